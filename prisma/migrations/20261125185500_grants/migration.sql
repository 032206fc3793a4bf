-- Apps that people connect by OAuth 2.1. A grant is a key that has access tokens in place of a secret of its own.

ALTER TABLE api_keys
  ADD COLUMN kind          text NOT NULL DEFAULT 'key',
  ADD COLUMN client_id     text,
  ADD COLUMN client_name   text,
  ADD COLUMN client_domain text,
  ADD COLUMN resource      text,
  ALTER COLUMN key_hash DROP NOT NULL,
  ADD CONSTRAINT api_keys_kind_check CHECK (
    CASE kind
      WHEN 'key' THEN key_hash IS NOT NULL AND num_nonnulls(client_id, client_name, client_domain, resource) = 0
      WHEN 'grant' THEN key_hash IS NULL AND num_nulls(client_id, client_name, client_domain) = 0
                        AND coalesce(resource IN ('api', 'mcp'), false)
      ELSE false END);
COMMENT ON COLUMN api_keys.resource IS 'what the tokens of a grant open: api is REST, typed RPC and events; mcp is /mcp';
-- A consent ends the earlier one of the same app.
CREATE INDEX api_keys_grants_idx ON api_keys (user_id, client_id) WHERE kind = 'grant' AND revoked_at IS NULL;

CREATE TABLE oauth_records (
  kind           text NOT NULL,
  -- Never what a client holds: a SHA-256 of it.
  hash           bytea NOT NULL,
  key_id         uuid REFERENCES api_keys (id) ON DELETE CASCADE,
  user_code_hash bytea,
  payload        jsonb NOT NULL,
  expires_at     timestamptz(6) NOT NULL,
  used_at        timestamptz(6),
  CONSTRAINT oauth_records_pkey PRIMARY KEY (kind, hash),
  CONSTRAINT oauth_records_user_code_key UNIQUE (user_code_hash)
);
COMMENT ON TABLE oauth_records IS
  'codes, tokens, consents under way and registered clients, as the library for OAuth keeps them';
CREATE INDEX oauth_records_key_idx ON oauth_records (key_id);
CREATE INDEX oauth_records_expires_idx ON oauth_records (expires_at);
