-- A conversation belongs to a bid: its bidder and the task's buyer, and a moderator while the task is disputed.

CREATE TABLE messages (
  id         uuid PRIMARY KEY DEFAULT uuid_v7(),
  bid_id     uuid NOT NULL REFERENCES bids (id),
  task_id    uuid NOT NULL REFERENCES tasks (id),
  sender_id  uuid NOT NULL REFERENCES users (id),
  role       text NOT NULL CHECK (role IN ('buyer', 'bidder', 'moderator')),
  text       text CHECK (char_length(text) BETWEEN 1 AND 5000),
  file_count integer NOT NULL,
  to_buyer   integer NOT NULL,
  to_bidder  integer NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT service_now(),
  CONSTRAINT messages_feed_key UNIQUE (bid_id, created_at),
  CONSTRAINT messages_not_empty CHECK (text IS NOT NULL OR file_count > 0)
);
COMMENT ON COLUMN messages.to_buyer IS
  'how many messages of this conversation the buyer has received, this one included: unread ones are a difference, never counted';
CREATE INDEX messages_sender_idx ON messages (sender_id, created_at);

CREATE TABLE conversations (
  bid_id          uuid NOT NULL REFERENCES bids (id),
  user_id         uuid NOT NULL REFERENCES users (id),
  side            text NOT NULL CHECK (side IN ('buyer', 'bidder')),
  with_id         uuid NOT NULL REFERENCES users (id),
  last_message_id uuid NOT NULL REFERENCES messages (id),
  read            integer NOT NULL DEFAULT 0,
  updated_at      timestamptz(6) NOT NULL,
  PRIMARY KEY (bid_id, user_id),
  CONSTRAINT conversations_feed_key UNIQUE (user_id, updated_at)
);
COMMENT ON TABLE conversations IS 'one row for each of the two sides, from the first message on';
COMMENT ON COLUMN conversations.read IS 'messages.to_buyer or to_bidder of the last one that this side has read; only grows';

ALTER TABLE artifacts
  ALTER COLUMN task_id DROP NOT NULL,
  ADD COLUMN message_id uuid REFERENCES messages (id),
  DROP CONSTRAINT artifacts_kind_known,
  ADD CONSTRAINT artifacts_kind_known CHECK (kind IN ('sample', 'delivery', 'brief', 'message')),
  ADD CONSTRAINT artifacts_task CHECK ((task_id IS NULL) = (kind = 'message')),
  ADD CONSTRAINT artifacts_message CHECK (message_id IS NULL OR kind = 'message');
COMMENT ON COLUMN artifacts.task_id IS 'null for a file of a message, whose bid has it: reading a task must not pass by all of them';
COMMENT ON COLUMN artifacts.message_id IS 'the one message that the file is in; without one it is deleted after a day';
CREATE INDEX artifacts_message_idx ON artifacts (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX artifacts_unused_idx ON artifacts (created_at) WHERE kind = 'message' AND message_id IS NULL;
-- Without the files of messages, of which a bid may have thousands.
CREATE INDEX artifacts_work_idx ON artifacts (bid_id) WHERE kind IN ('sample', 'delivery');
DROP INDEX artifacts_bid_idx;
