-- Suspension, closed accounts, and the record of what moderators do.

ALTER TABLE users
  ADD COLUMN winding_down boolean NOT NULL DEFAULT false,
  ADD COLUMN closed_at    timestamptz(6);
COMMENT ON COLUMN users.email IS
  'in canonical form, so that equal addresses are equal strings; of a closed account, closed: and its id, which is no address';
COMMENT ON COLUMN users.winding_down IS
  'suspended, and open tasks or active bids may be left to cancel and withdraw; see server/market/accounts/windDown.ts';
COMMENT ON COLUMN users.closed_at IS 'when its owner closed the account; what could identify them was removed then';
CREATE INDEX users_winding_down_idx ON users (id) WHERE winding_down;

-- Whoever was suspended before has their old sessions and keys deleted now, and their open tasks and active bids ended by
-- the worker: lifting a suspension no longer revives anything.
DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE suspended_at IS NOT NULL);
DELETE FROM api_keys WHERE user_id IN (SELECT id FROM users WHERE suspended_at IS NOT NULL);
UPDATE users SET winding_down = true WHERE suspended_at IS NOT NULL;

-- Users are listed by created_at, so no two may share it. Existing ties are moved apart by microseconds until none is left.
DO $$
BEGIN
  LOOP
    UPDATE users u SET created_at = created_at + ties.place * interval '1 microsecond'
    FROM (SELECT id, row_number() OVER (PARTITION BY created_at ORDER BY id) - 1 AS place FROM users) ties
    WHERE ties.id = u.id AND ties.place > 0;
    EXIT WHEN NOT FOUND;
  END LOOP;
END $$;
ALTER TABLE users ADD CONSTRAINT users_feed_key UNIQUE (created_at);

CREATE TABLE moderation_actions (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  moderator_id uuid REFERENCES users (id),
  action       text NOT NULL,
  user_id      uuid REFERENCES users (id),
  dispute_id   uuid REFERENCES disputes (id),
  reason       text,
  created_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT moderation_actions_feed_key UNIQUE (created_at),
  CONSTRAINT moderation_actions_action_known CHECK (action IN (
    'resolve_dispute', 'suspend_user', 'reinstate_user', 'add_moderator', 'remove_moderator', 'remove_second_factor')),
  CONSTRAINT moderation_actions_subject CHECK (
    (action = 'resolve_dispute') = (dispute_id IS NOT NULL) AND (dispute_id IS NULL) = (user_id IS NOT NULL))
);
COMMENT ON COLUMN moderation_actions.moderator_id IS 'null for an operator at the command line';
COMMENT ON COLUMN moderation_actions.user_id IS 'on whom; null for a dispute, which has its parties';
CREATE INDEX moderation_actions_user_idx ON moderation_actions (user_id, created_at) WHERE user_id IS NOT NULL;

CREATE FUNCTION moderation_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the record of moderation is append-only: % is refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER moderation_actions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON moderation_actions
  FOR EACH STATEMENT EXECUTE FUNCTION moderation_refuse_change();
ALTER TABLE moderation_actions ENABLE ALWAYS TRIGGER moderation_actions_append_only;

-- Disputes that were decided before this record existed.
INSERT INTO moderation_actions (moderator_id, action, dispute_id, reason, created_at)
SELECT resolved_by, 'resolve_dispute', id, note,
       resolved_at + (row_number() OVER (PARTITION BY resolved_at ORDER BY id) - 1) * interval '1 microsecond'
FROM disputes WHERE status = 'resolved'
ON CONFLICT DO NOTHING;
