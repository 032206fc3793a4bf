-- How people want to be told. A kind without a row, and null, is the default.

ALTER TABLE users ADD COLUMN time_zone text;
COMMENT ON COLUMN users.time_zone IS 'an IANA name; null is UTC';

CREATE TABLE notification_preferences (
  user_id uuid NOT NULL REFERENCES users (id),
  kind    text NOT NULL CHECK (kind IN ('deadlines', 'work', 'money', 'messages', 'account', 'marketplace')),
  mail    text CHECK (mail IN ('now', 'daily', 'off')),
  push    boolean,
  updated_at timestamptz(6) NOT NULL DEFAULT service_now(),
  PRIMARY KEY (user_id, kind),
  CONSTRAINT notification_preferences_account CHECK (kind <> 'account' OR mail <> 'off')
);
-- Who follows the market.
CREATE INDEX notification_preferences_kind_idx ON notification_preferences (user_id) WHERE kind = 'marketplace';
