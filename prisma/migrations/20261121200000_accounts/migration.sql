-- People and their credentials.
--
-- prisma/models describes the same tables for the ordinary queries. What Prisma's language cannot express (checks,
-- triggers, functions, partial indexes) is defined in these migrations only.

-- A time-ordered UUID (RFC 9562, version 7): 48 bits of Unix milliseconds, then random bits. Postgres 18 and later
-- generate them natively, with sub-millisecond order. For earlier versions this is a single expression, which Postgres
-- can inline: the second half of a version 4 UUID already has the right variant bits.
DO $$
BEGIN
  IF current_setting('server_version_num')::int >= 180000 THEN
    CREATE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uuidv7()';
  ELSE
    CREATE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $expression$
      SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
              || '-7' || substr(gen_random_uuid()::text, 16))::uuid
    $expression$;
  END IF;
END $$;

CREATE TABLE users (
  id            uuid PRIMARY KEY DEFAULT uuid_v7(),
  email         text NOT NULL,
  password_hash text NOT NULL,
  display_name  text NOT NULL,
  role          text NOT NULL DEFAULT 'member',
  suspended_at  timestamptz(6),
  created_at    timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT users_email_key UNIQUE (email),
  CONSTRAINT users_role_known CHECK (role IN ('member', 'moderator'))
);
COMMENT ON COLUMN users.email IS 'in canonical form, so that equal addresses are equal strings';

CREATE TABLE sessions (
  id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id    uuid NOT NULL REFERENCES users (id),
  expires_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);

CREATE TABLE api_keys (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id      uuid NOT NULL REFERENCES users (id),
  label        text NOT NULL,
  scopes       text[] NOT NULL,
  key_hash     bytea NOT NULL,
  last4        text NOT NULL,
  created_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  last_used_at timestamptz(6),
  revoked_at   timestamptz(6),
  CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash)
);
CREATE INDEX api_keys_user_id_idx ON api_keys (user_id);
