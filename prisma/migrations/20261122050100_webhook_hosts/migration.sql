-- A receiving host and port gets one request a second from all users together until it answers with 2xx: nobody can use
-- the service to flood a server that never asked for events. What exceeds this is held back, and stays pending.

CREATE TABLE webhook_hosts (
  host            text PRIMARY KEY,
  answered_at     timestamptz(6) NOT NULL DEFAULT '-infinity',
  next_request_at timestamptz(6) NOT NULL DEFAULT '-infinity',
  last_endpoint   uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
) WITH (fillfactor = 80);
COMMENT ON TABLE webhook_hosts IS 'the receiving servers of all endpoints, as host:port';
COMMENT ON COLUMN webhook_hosts.answered_at IS
  'when the host answered with 2xx for the first time, to anybody; -infinity: not yet';
COMMENT ON COLUMN webhook_hosts.next_request_at IS 'when a delivery that is held back may be sent next';
COMMENT ON COLUMN webhook_hosts.last_endpoint IS
  'the endpoint whose turn it was: they take turns, so that the failures of one do not keep another from proving the host';

ALTER TABLE webhook_endpoints
  ADD COLUMN host        text,
  ADD COLUMN replayed_at timestamptz(6),
  ADD COLUMN tested_at   timestamptz(6)[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN webhook_endpoints.host IS 'host and port of url, in one spelling (server/webhooks/host.ts)';
COMMENT ON COLUMN webhook_endpoints.replayed_at IS 'when its failed deliveries were last replayed: the next replay must wait';
COMMENT ON COLUMN webhook_endpoints.tested_at IS 'the times of its latest tests, oldest first: a few are allowed a minute';

-- The service parses URLs with the rules of browsers. For endpoints from before, this comes close: an unusual spelling
-- merely makes a host of its own.
UPDATE webhook_endpoints SET host =
  coalesce(regexp_replace(lower(substring(url FROM '^[A-Za-z]+://(\[[^\]]*\]|[^/?#:]*)')), '\.$', ''), '') || ':' ||
  coalesce(substring(url FROM '^[A-Za-z]+://(?:\[[^\]]*\]|[^/?#:]*):([0-9]+)'), CASE WHEN url ILIKE 'http:%' THEN '80' ELSE '443' END);
INSERT INTO webhook_hosts (host) SELECT DISTINCT host FROM webhook_endpoints;
ALTER TABLE webhook_endpoints
  ALTER COLUMN host SET NOT NULL,
  ADD CONSTRAINT webhook_endpoints_host_fkey FOREIGN KEY (host) REFERENCES webhook_hosts (host);

ALTER TABLE webhook_deliveries
  ADD COLUMN held_for    text,
  ADD COLUMN replayed_at timestamptz(6),
  ADD CONSTRAINT webhook_deliveries_held_waiting CHECK (waiting OR held_for IS NULL);
COMMENT ON COLUMN webhook_deliveries.waiting IS
  'pending, but not in its endpoint''s lane: a retry that lies ahead or was not yet promoted, or held back for its host';
COMMENT ON COLUMN webhook_deliveries.held_for IS
  'the host that it is held back for, because the host has not answered with 2xx yet; null if it is not held back';
COMMENT ON COLUMN webhook_deliveries.replayed_at IS 'when it was last replayed: the next replay must wait';

-- The held ones have a queue for each endpoint of a host, and do not stand among the retries, which are found by their time.
DROP INDEX webhook_deliveries_waiting_idx;
CREATE INDEX webhook_deliveries_waiting_idx ON webhook_deliveries (due_at) WHERE waiting AND held_for IS NULL;
CREATE INDEX webhook_deliveries_held_idx ON webhook_deliveries (held_for, endpoint_id, due_at) WHERE held_for IS NOT NULL;
