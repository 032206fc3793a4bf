-- The answers of requests that were sent with an Idempotency-Key, so that a repeat does nothing twice.

-- Most rows are inserted with their answer, in the transaction of the change. An operation that asks the outside world
-- claims its key first: such a row has an owner and no answer until the change commits. There is no foreign key to
-- users, because checking it would cost as much as the insert, and rows live for a day.
CREATE TABLE idempotency_keys (
  user_id     uuid NOT NULL,
  key         text NOT NULL,
  operation   text NOT NULL,
  input_hash  bytea NOT NULL,
  answer      json,
  claim_id    uuid,
  owner       uuid,
  lease_until timestamptz(6),
  expires_at  timestamptz(6) NOT NULL DEFAULT clock_timestamp() + interval '24 hours',
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (user_id, key),
  CONSTRAINT idempotency_keys_answered_or_claimed
    CHECK (answer IS NOT NULL OR (claim_id IS NOT NULL AND owner IS NOT NULL AND lease_until IS NOT NULL))
);
COMMENT ON COLUMN idempotency_keys.key IS 'chosen by the client; its scope is the user';
COMMENT ON COLUMN idempotency_keys.operation IS 'the procedure, such as tasks.create';
COMMENT ON COLUMN idempotency_keys.input_hash IS 'SHA-256 of the input as JSON with sorted keys';
COMMENT ON COLUMN idempotency_keys.answer IS
  'what the change returned, without secrets and without addresses that are signed; null while a claim is under way';
COMMENT ON COLUMN idempotency_keys.claim_id IS
  'names what the claim creates, for us and for the payment processor; it stays when another process takes the claim over';
COMMENT ON COLUMN idempotency_keys.owner IS 'the request that works on the claim; only it may answer';
COMMENT ON COLUMN idempotency_keys.lease_until IS 'the owner extends it while it lives; after that, a repeat takes the claim over';
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);

ALTER TABLE topups ADD COLUMN checkout_url text;
COMMENT ON COLUMN topups.checkout_url IS
  'the checkout page, for a repeat of the request; it lets anyone pay for 24 hours and does nothing after that';
