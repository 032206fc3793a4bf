-- Files that people take away: what was asked for, and what became of it. The object store has the file under a key that follows
-- from the row's id, so that a job that runs twice writes one file.
CREATE TABLE exports (
  id          uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id     uuid NOT NULL REFERENCES users (id),
  kind        text NOT NULL,
  format      text NOT NULL,
  month       text,
  task_id     uuid REFERENCES tasks (id),
  topup_id    uuid REFERENCES topups (id),
  payout_id   uuid REFERENCES payouts (id),
  status      text NOT NULL DEFAULT 'pending',
  attempts    integer NOT NULL DEFAULT 0,
  due_at      timestamptz(6) NOT NULL DEFAULT service_now(),
  file_name   text,
  bytes       bigint,
  created_at  timestamptz(6) NOT NULL DEFAULT service_now(),
  expires_at  timestamptz(6) NOT NULL,
  CONSTRAINT exports_kind_known CHECK (kind IN ('ledger', 'statement', 'receipt', 'account')),
  CONSTRAINT exports_format_known CHECK (format IN ('csv', 'json', 'pdf')),
  CONSTRAINT exports_status_known CHECK (status IN ('pending', 'ready', 'failed')),
  CONSTRAINT exports_subject_fits CHECK (
    (month IS NOT NULL) = (kind = 'statement')
    AND num_nonnulls(task_id, topup_id, payout_id) = CASE kind WHEN 'receipt' THEN 1 ELSE 0 END
  ),
  CONSTRAINT exports_ready_has_file CHECK ((status = 'ready') = (file_name IS NOT NULL) AND (status = 'ready') = (bytes IS NOT NULL)),
  -- The list's order and cursor.
  CONSTRAINT exports_feed_key UNIQUE (user_id, created_at)
);
COMMENT ON COLUMN exports.due_at IS 'of a pending one: when it may be made, or tried again';
CREATE INDEX exports_due_idx ON exports (due_at) WHERE status = 'pending';
CREATE INDEX exports_expires_idx ON exports (expires_at);
-- A top-up that is deleted looks for those that refer to it.
CREATE INDEX exports_topup_idx ON exports (topup_id) WHERE topup_id IS NOT NULL;
