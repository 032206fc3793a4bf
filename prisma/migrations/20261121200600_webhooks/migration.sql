-- Domain events, who subscribed to them (endpoints), and what each subscriber is sent (deliveries, which are the queue).

-- ---------------------------------------------------------------- events

-- The outbox: an event is written in the transaction of the change it reports, and deliveries are derived from it.
CREATE TABLE events (
  id            uuid PRIMARY KEY DEFAULT uuid_v7(),
  type          text NOT NULL,
  task_id       uuid REFERENCES tasks (id),
  recipients    uuid[],
  -- json instead of jsonb, which would reorder the fields: every delivery and replay sends the same bytes.
  data          json NOT NULL,
  created_at    timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  fanned_out_at timestamptz(6)
);
COMMENT ON COLUMN events.task_id IS 'null for a sample event, which an owner requests to test an endpoint';
COMMENT ON COLUMN events.recipients IS 'the users whose subscriptions receive it; null means every subscriber';
COMMENT ON COLUMN events.fanned_out_at IS 'set in the transaction that writes the event''s deliveries; null until then';
CREATE INDEX events_pending_idx ON events (id) WHERE fanned_out_at IS NULL;

-- ---------------------------------------------------------------- endpoints

CREATE TABLE webhook_endpoints (
  id              uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id         uuid NOT NULL REFERENCES users (id),
  url             text NOT NULL,
  events          text[] NOT NULL,
  signing_secret  text NOT NULL,
  failures_in_row integer NOT NULL DEFAULT 0,
  failing_since   timestamptz(6),
  switched_off_at timestamptz(6),
  deleted_at      timestamptz(6),
  created_at      timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT webhook_endpoints_failing_since CHECK ((failures_in_row = 0) = (failing_since IS NULL))
) WITH (fillfactor = 80);
COMMENT ON COLUMN webhook_endpoints.signing_secret IS
  'in plain text, because it signs every delivery; whoever reads it can forge events to this endpoint and nothing else. Cleared on deletion';
CREATE INDEX webhook_endpoints_user_idx ON webhook_endpoints (user_id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_endpoints_subscribers_idx ON webhook_endpoints USING gin (events)
  WHERE deleted_at IS NULL AND switched_off_at IS NULL;

-- ---------------------------------------------------------------- deliveries

-- One row per event and endpoint, whatever its outcome. A pending row is due at due_at, and the worker that takes it
-- leases it. The lease is in no index, and the fill factor leaves room, so taking a row is a heap-only update.
CREATE TABLE webhook_deliveries (
  id            uuid PRIMARY KEY DEFAULT uuid_v7(),
  endpoint_id   uuid NOT NULL REFERENCES webhook_endpoints (id),
  event_id      uuid NOT NULL REFERENCES events (id),
  event_type    text NOT NULL,
  status        text NOT NULL DEFAULT 'pending',
  attempts_left integer NOT NULL,
  attempts      jsonb NOT NULL DEFAULT '[]',
  due_at        timestamptz(6) NOT NULL,
  waiting       boolean NOT NULL DEFAULT false,
  leased_until  timestamptz(6) NOT NULL DEFAULT '-infinity',
  failed_at     timestamptz(6),
  created_at    timestamptz(6) NOT NULL,
  CONSTRAINT webhook_deliveries_status_known CHECK (status IN ('pending', 'succeeded', 'failed')),
  CONSTRAINT webhook_deliveries_attempts_left_not_negative CHECK (attempts_left >= 0),
  CONSTRAINT webhook_deliveries_waiting_pending CHECK (status = 'pending' OR NOT waiting),
  CONSTRAINT webhook_deliveries_failed_at CHECK ((status = 'failed') = (failed_at IS NOT NULL)),
  CONSTRAINT webhook_deliveries_feed_key UNIQUE (endpoint_id, created_at)
) WITH (
  fillfactor = 70,
  -- Dead rows are what slows a queue down, so they are vacuumed early and without pauses.
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
COMMENT ON COLUMN webhook_deliveries.waiting IS
  'pending, but not yet in its endpoint''s lane: due_at lies ahead, or has passed and the retry was not yet promoted';
COMMENT ON COLUMN webhook_deliveries.failed_at IS
  'when the last attempt failed, which may be hours after created_at; a replay selects by this time';

-- The queue: each endpoint has its own lane. Retries that are not yet due are kept out of the lanes; otherwise, finding
-- due rows would visit every endpoint that only waits for a retry (measured: 60 ms per claim with 10,000 of them). They
-- wait in an index by time and join their lane when they are due, so a claim costs only as much as there is to send.
CREATE INDEX webhook_deliveries_lane_idx ON webhook_deliveries (endpoint_id, due_at) WHERE status = 'pending' AND NOT waiting;
CREATE INDEX webhook_deliveries_waiting_idx ON webhook_deliveries (due_at) WHERE waiting;
CREATE INDEX webhook_deliveries_failed_idx ON webhook_deliveries (endpoint_id, failed_at) WHERE failed_at IS NOT NULL;
