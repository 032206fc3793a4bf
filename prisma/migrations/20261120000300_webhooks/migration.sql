-- Webhooks: who subscribed (endpoints), and what each of them is to be sent (deliveries, which are also the queue).

-- ---------------------------------------------------------------- events, on their way out

ALTER TABLE events ADD COLUMN fanned_out_at timestamptz(6);
COMMENT ON COLUMN events.fanned_out_at IS 'set in the transaction that writes the event''s deliveries; null: still to be done';
CREATE INDEX events_pending_idx ON events (id) WHERE fanned_out_at IS NULL;

-- As text, and not as jsonb: what subscribers get keeps its order of fields, and is the same to the byte for ever.
ALTER TABLE events ALTER COLUMN data TYPE json;

-- A sample event, which an owner asks for to try an endpoint, is about no task.
ALTER TABLE events ALTER COLUMN task_id DROP NOT NULL;

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
  'as it is, since every delivery is signed with it; whoever reads it can forge events to this endpoint and nothing else. Emptied at deletion';
CREATE INDEX webhook_endpoints_user_idx ON webhook_endpoints (user_id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_endpoints_subscribers_idx ON webhook_endpoints USING gin (events)
  WHERE deleted_at IS NULL AND switched_off_at IS NULL;

-- ---------------------------------------------------------------- deliveries

-- One row for each event and endpoint, whatever becomes of it. A pending row is due at due_at; a worker that takes it
-- leases it. The lease is in no index, so that taking a row is a heap-only update; fillfactor leaves the room for that.
CREATE TABLE webhook_deliveries (
  id            uuid PRIMARY KEY DEFAULT uuid_v7(),
  endpoint_id   uuid NOT NULL REFERENCES webhook_endpoints (id),
  event_id      uuid NOT NULL REFERENCES events (id),
  event_type    text NOT NULL,
  status        text NOT NULL DEFAULT 'pending',
  attempts_left integer NOT NULL,
  attempts      jsonb NOT NULL DEFAULT '[]',
  due_at        timestamptz(6) NOT NULL,
  leased_until  timestamptz(6) NOT NULL DEFAULT '-infinity',
  created_at    timestamptz(6) NOT NULL,
  CONSTRAINT webhook_deliveries_status_known CHECK (status IN ('pending', 'succeeded', 'failed')),
  CONSTRAINT webhook_deliveries_attempts_left_not_negative CHECK (attempts_left >= 0),
  -- The endpoint's feed: no two of its deliveries share their timestamp.
  CONSTRAINT webhook_deliveries_feed_key UNIQUE (endpoint_id, created_at)
) WITH (
  fillfactor = 70,
  -- A queue's dead rows are what slows it down: clean up early and without pauses.
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
-- The queue: each endpoint is a lane of its own.
CREATE INDEX webhook_deliveries_lane_idx ON webhook_deliveries (endpoint_id, due_at) WHERE status = 'pending';
