-- Mails about notifications: each is a row before it is sent, whose id is its Message-ID.

ALTER TABLE notifications
  ADD COLUMN mail text CHECK (mail IN ('now', 'held', 'daily')),
  ADD COLUMN mail_id uuid;
COMMENT ON COLUMN notifications.mail IS 'how it is to be mailed; held: in one mail with others, when the hour is over; null: not';
COMMENT ON COLUMN notifications.mail_id IS 'the mail that has it';
CREATE INDEX notifications_unmailed_idx ON notifications (user_id, mail) WHERE mail IS NOT NULL AND mail_id IS NULL;
CREATE INDEX notifications_mail_idx ON notifications (mail_id) WHERE mail_id IS NOT NULL;

CREATE TABLE notification_mails (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id      uuid NOT NULL REFERENCES users (id),
  purpose      text NOT NULL CHECK (purpose IN ('news', 'digest', 'reminder')),
  task_id      uuid REFERENCES tasks (id),
  due_at       timestamptz(6),
  created_at   timestamptz(6) NOT NULL DEFAULT service_now(),
  leased_until timestamptz(6) NOT NULL DEFAULT '-infinity',
  ended_at     timestamptz(6),
  sent         boolean NOT NULL DEFAULT false,
  CONSTRAINT notification_mails_once UNIQUE (user_id, purpose, task_id, due_at),
  CONSTRAINT notification_mails_subject CHECK ((purpose = 'reminder') = (task_id IS NOT NULL) AND (purpose = 'news') = (due_at IS NULL))
);
COMMENT ON COLUMN notification_mails.due_at IS 'of a reminder, the deadline; of a digest, the 8 o''clock that it is for';
COMMENT ON COLUMN notification_mails.leased_until IS 'a process sends it until then; real time';
COMMENT ON COLUMN notification_mails.ended_at IS 'it was sent, or nothing of it was true any more';
CREATE UNIQUE INDEX notification_mails_digest_key ON notification_mails (user_id, due_at) WHERE purpose = 'digest';
CREATE INDEX notification_mails_open_idx ON notification_mails (created_at) WHERE ended_at IS NULL;
CREATE INDEX notification_mails_user_idx ON notification_mails (user_id, created_at);
CREATE INDEX notification_mails_created_idx ON notification_mails (created_at);
