-- The second factor of a login: time-based codes (RFC 6238), and recovery codes for when the authenticator is lost.

CREATE TABLE totp_factors (
  user_id         uuid PRIMARY KEY REFERENCES users (id),
  id              uuid NOT NULL DEFAULT uuid_v7(),
  sealed_secret   text NOT NULL,
  confirmed_at    timestamptz(6),
  last_step       bigint NOT NULL DEFAULT 0,
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(6) NOT NULL DEFAULT '-infinity',
  created_at      timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON COLUMN totp_factors.id IS 'names this secret; a factor that is set up again has another one';
COMMENT ON COLUMN totp_factors.sealed_secret IS 'encrypted with a key derived from SESSION_SECRET';
COMMENT ON COLUMN totp_factors.confirmed_at IS 'null until the first code has shown that the authenticator has the secret';
COMMENT ON COLUMN totp_factors.last_step IS 'the time step of the newest code that was accepted: no code works twice';
COMMENT ON COLUMN totp_factors.attempts IS 'codes tried since the last right one; counted before each is checked';
COMMENT ON COLUMN totp_factors.next_attempt_at IS 'after several wrong codes, when the next one may be tried';

CREATE TABLE recovery_codes (
  user_id   uuid NOT NULL REFERENCES users (id),
  code_hash bytea NOT NULL,
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash)
);
COMMENT ON COLUMN recovery_codes.code_hash IS 'SHA-256; the codes have 120 random bits. A used code is deleted';

ALTER TABLE sessions ADD COLUMN second_factor boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN sessions.second_factor IS 'whether its login, or the set-up of the factor in it, proved the second factor';
