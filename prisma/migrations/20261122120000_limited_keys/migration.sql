-- API keys that expire, and API keys that may spend only so much in a day, in a month or altogether.

ALTER TABLE api_keys
  ADD COLUMN expires_at        timestamptz(6) NOT NULL DEFAULT 'infinity',
  ADD COLUMN spend_limit_cents bigint,
  ADD COLUMN spend_limit_per   text,
  ADD COLUMN spent_cents       bigint NOT NULL DEFAULT 0,
  ADD COLUMN spent_since       timestamptz(6) NOT NULL DEFAULT '-infinity',
  ADD CONSTRAINT api_keys_spend_limit_check CHECK (
    CASE WHEN spend_limit_cents IS NULL THEN spend_limit_per IS NULL AND spent_cents = 0
         ELSE spend_limit_per IN ('day', 'month', 'total') AND spent_cents BETWEEN 0 AND spend_limit_cents END);
COMMENT ON COLUMN api_keys.spent_cents IS
  'what the key has spent in the period that began at spent_since; nothing, if that period is over';

-- Expired keys must not be in the way of counting and listing the others, any more than revoked ones.
DROP INDEX api_keys_living_idx;
CREATE INDEX api_keys_living_idx ON api_keys (user_id, expires_at) WHERE revoked_at IS NULL;
