-- Browsers that show notifications, each for as long as its session lasts.

CREATE TABLE push_keys (
  generation  integer PRIMARY KEY,
  public_key  text NOT NULL,
  private_key text NOT NULL,
  created_at  timestamptz(6) NOT NULL DEFAULT service_now()
);
COMMENT ON TABLE push_keys IS
  'VAPID key pairs: browsers subscribe with the newest, older ones go on working for the browsers that have them';

CREATE TABLE push_subscriptions (
  id         uuid PRIMARY KEY DEFAULT uuid_v7(),
  session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  user_id    uuid NOT NULL REFERENCES users (id),
  endpoint   text NOT NULL CHECK (char_length(endpoint) <= 2048),
  p256dh     text NOT NULL,
  auth       text NOT NULL,
  generation integer NOT NULL REFERENCES push_keys (generation),
  created_at timestamptz(6) NOT NULL DEFAULT service_now(),
  CONSTRAINT push_subscriptions_session_key UNIQUE (session_id),
  -- A browser's secret belongs to the key: to know an endpoint is not to have its browser.
  CONSTRAINT push_subscriptions_browser_key UNIQUE (endpoint, auth)
);
COMMENT ON COLUMN push_subscriptions.generation IS 'the key pair that the browser subscribed with, as far as we know';
CREATE INDEX push_subscriptions_user_idx ON push_subscriptions (user_id, created_at);
CREATE INDEX push_subscriptions_generation_idx ON push_subscriptions (generation);
