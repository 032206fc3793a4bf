-- Verified addresses, the mails that verify them and reset passwords, and what a list of sessions shows.

ALTER TABLE users ADD COLUMN email_verified_at timestamptz(6);
COMMENT ON COLUMN users.email_verified_at IS 'when its owner first used a link that was sent to the address';

-- `created_at` cannot bound a session's life: it is the database's time, and a session's times are the service's.
ALTER TABLE sessions
  ADD COLUMN last_seen_at timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN ends_at      timestamptz(6) NOT NULL DEFAULT clock_timestamp() + interval '90 days';
UPDATE sessions SET last_seen_at = created_at, ends_at = created_at + interval '90 days';
COMMENT ON COLUMN sessions.last_seen_at IS 'last use, to the minute';
COMMENT ON COLUMN sessions.expires_at IS 'moves with each use, up to ends_at';

-- The links in mails to an account. Only the hash of a link's token is stored.
CREATE TABLE account_tokens (
  id         uuid PRIMARY KEY,
  user_id    uuid NOT NULL REFERENCES users (id),
  purpose    text NOT NULL,
  token_hash bytea NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz(6) NOT NULL,
  sent_at    timestamptz(6),
  used_at    timestamptz(6),
  CONSTRAINT account_tokens_token_hash_key UNIQUE (token_hash),
  CONSTRAINT account_tokens_purpose_known CHECK (purpose IN ('reset_password', 'verify_email'))
);
CREATE INDEX account_tokens_user_id_idx ON account_tokens (user_id);
COMMENT ON COLUMN account_tokens.id IS 'the mail''s id: a job that runs again replaces the token of its own mail';
COMMENT ON COLUMN account_tokens.sent_at IS 'when the mail was accepted; null while it is not, and for a link that an operator printed';
COMMENT ON COLUMN account_tokens.used_at IS 'also set when the token is void because another one was used';
