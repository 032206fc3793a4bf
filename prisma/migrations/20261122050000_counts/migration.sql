-- What a user may have many of is counted and bounded: API keys that are not revoked, and top-ups that are open.

-- Revoked keys stay, so they must not be in the way of counting and listing the others.
CREATE INDEX api_keys_living_idx ON api_keys (user_id, id DESC) WHERE revoked_at IS NULL;
DROP INDEX api_keys_user_id_idx;

ALTER TABLE topups ADD COLUMN expire_requested_at timestamptz(6);
COMMENT ON COLUMN topups.expire_requested_at IS
  'set when its user opened so many later ones that its checkout page is to be expired at the processor';
CREATE INDEX topups_open_idx ON topups (user_id, created_at DESC) WHERE status = 'created' AND expire_requested_at IS NULL;
