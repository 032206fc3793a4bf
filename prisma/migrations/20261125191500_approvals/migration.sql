-- What API keys ask their owners, and what the owners decided.

CREATE TABLE approvals (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id      uuid NOT NULL REFERENCES users (id),
  key_id       uuid NOT NULL,
  operation    text NOT NULL,
  subject_id   uuid,
  task_id      uuid REFERENCES tasks (id),
  bid_id       uuid REFERENCES bids (id),
  input        json NOT NULL,
  input_hash   bytea NOT NULL,
  asked_with   text[] NOT NULL DEFAULT '{}',
  amount_cents bigint NOT NULL,
  summary      text NOT NULL,
  version      text NOT NULL,
  status       text NOT NULL DEFAULT 'pending',
  reason       text,
  error        json,
  result       json,
  decided_by   uuid,
  created_at   timestamptz(6) NOT NULL DEFAULT service_now(),
  expires_at   timestamptz(6) NOT NULL,
  decided_at   timestamptz(6),
  CONSTRAINT approvals_feed_key UNIQUE (created_at),
  CONSTRAINT approvals_amount_not_negative CHECK (amount_cents >= 0),
  CONSTRAINT approvals_status_known
    CHECK (status IN ('pending', 'approved', 'declined', 'expired', 'superseded', 'void', 'failed')),
  CONSTRAINT approvals_decided_complete CHECK (
    (status = 'pending') = (decided_at IS NULL)
    AND (status IN ('approved', 'declined', 'failed')) = (decided_by IS NOT NULL)
    AND (status = 'declined') = (reason IS NOT NULL)
    AND (status = 'failed') = (error IS NOT NULL)
    AND (status = 'approved') = (result IS NOT NULL)
  )
);
COMMENT ON COLUMN approvals.key_id IS 'the API key that asks, which may be deleted later';
COMMENT ON COLUMN approvals.operation IS 'the procedure, such as tasks.award';
COMMENT ON COLUMN approvals.subject_id IS
  'the task or agreement; another input of the same key, operation and subject supersedes this one. Null: nothing does';
COMMENT ON COLUMN approvals.bid_id IS 'the bid that is awarded or paid';
COMMENT ON COLUMN approvals.input_hash IS 'as in idempotency_keys';
COMMENT ON COLUMN approvals.asked_with IS 'some of the Idempotency-Keys with which it was asked';
COMMENT ON COLUMN approvals.version IS 'of what its owner sees; while it is pending, the present one is computed from the task and bid';
COMMENT ON COLUMN approvals.decided_by IS 'the user in whose session it was decided';
CREATE UNIQUE INDEX approvals_same_input_key ON approvals (key_id, operation, input_hash) WHERE status = 'pending';
CREATE UNIQUE INDEX approvals_same_subject_key ON approvals (key_id, operation, subject_id) WHERE status = 'pending';
CREATE INDEX approvals_user_idx ON approvals (user_id, created_at);
CREATE INDEX approvals_declined_idx ON approvals (key_id, operation, input_hash, decided_at) WHERE status = 'declined';
-- Few at any time: the sweep looks at all of them.
CREATE INDEX approvals_pending_idx ON approvals (created_at, id) WHERE status = 'pending';

-- While an approval is pending, the keys with which it was asked belong to it; the decision answers them.
ALTER TABLE idempotency_keys ADD COLUMN approval_id uuid;
ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_answered_or_claimed;
ALTER TABLE idempotency_keys ADD CONSTRAINT idempotency_keys_answered_or_claimed CHECK (
  answer IS NOT NULL OR approval_id IS NOT NULL
  OR (claim_id IS NOT NULL AND owner IS NOT NULL AND lease_until IS NOT NULL));
COMMENT ON COLUMN idempotency_keys.approval_id IS 'the pending approval that a request with this key has asked for';
CREATE INDEX idempotency_keys_approval_idx ON idempotency_keys (approval_id) WHERE approval_id IS NOT NULL;

-- What an owner has approved counts, and may be more than the limit.
ALTER TABLE api_keys DROP CONSTRAINT api_keys_spend_limit_check;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_spend_limit_check CHECK (
  CASE WHEN spend_limit_cents IS NULL THEN spend_limit_per IS NULL AND spent_cents = 0
       ELSE spend_limit_per IN ('day', 'month', 'total') AND spent_cents >= 0 END);

ALTER TABLE events ADD COLUMN approved_by uuid;
COMMENT ON COLUMN events.approved_by IS 'the user who approved what the API key did';
