-- API keys that ask a person before they hold, commit or pay more than this at once.

ALTER TABLE api_keys
  ADD COLUMN approval_above_cents bigint,
  ADD CONSTRAINT api_keys_approval_above_not_negative CHECK (approval_above_cents >= 0);
COMMENT ON COLUMN api_keys.approval_above_cents IS 'null for a key that asks nobody';
