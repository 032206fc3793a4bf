-- What people are told: a view of the event log, which one follower fills.

-- Nullable, for events of the release before this migration.
ALTER TABLE events ADD COLUMN actor_id uuid, ADD COLUMN actor_key_id uuid, ADD COLUMN act_id uuid;
COMMENT ON COLUMN events.actor_id IS 'the user who did it; null for the clock, a job or an operator';
COMMENT ON COLUMN events.actor_key_id IS 'the API key with which they did it; null for a session';
COMMENT ON COLUMN events.act_id IS 'the same for all events of one transaction';

CREATE TABLE notifications (
  id         uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id    uuid NOT NULL REFERENCES users (id),
  event_id   uuid NOT NULL REFERENCES events (id) ON DELETE CASCADE,
  act_id     uuid,
  type       text NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('deadlines', 'work', 'money', 'messages', 'account', 'marketplace')),
  key_label  text,
  read       boolean NOT NULL DEFAULT false,
  created_at timestamptz(6) NOT NULL,
  CONSTRAINT notifications_event_key UNIQUE (user_id, event_id),
  CONSTRAINT notifications_act_key UNIQUE (user_id, act_id),
  CONSTRAINT notifications_feed_key UNIQUE (user_id, created_at)
);
COMMENT ON COLUMN notifications.act_id IS 'as in events: what one act gives one person is one notification';
COMMENT ON COLUMN notifications.key_label IS 'the label of the recipient''s own key that did it; null if somebody else or the clock did';
COMMENT ON COLUMN notifications.created_at IS 'later than that of every notification before it: see notification_cursor.told_at';
CREATE INDEX notifications_unread_idx ON notifications (user_id) WHERE NOT read;
CREATE INDEX notifications_event_idx ON notifications (event_id);

-- One row, which whoever follows the log locks. An upgraded installation begins at the latest event.
CREATE TABLE notification_cursor (
  id       boolean PRIMARY KEY DEFAULT true CHECK (id),
  position bigint NOT NULL,
  told_at  timestamptz(6) NOT NULL DEFAULT service_now()
);
COMMENT ON COLUMN notification_cursor.position IS 'the last event of the log of which everyone concerned was told';
COMMENT ON COLUMN notification_cursor.told_at IS 'the latest created_at of a notification';
INSERT INTO notification_cursor (position) SELECT last_position FROM event_log_state;
