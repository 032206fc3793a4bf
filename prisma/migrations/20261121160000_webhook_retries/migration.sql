-- Retries that lie ahead leave the queue: with them in the lanes, taking what is due had to ask each endpoint that only
-- waits for a retry (measured: 10,000 of them cost 60 ms a claim). They wait in an index of their own, ordered by time,
-- and join their lane when it has come; so a claim costs as much as there is to send.

ALTER TABLE webhook_deliveries ADD COLUMN waiting boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN webhook_deliveries.waiting IS 'pending, and not yet in its endpoint''s lane: due_at lies ahead, or nobody has looked since';
UPDATE webhook_deliveries SET waiting = true WHERE status = 'pending' AND due_at > clock_timestamp();
ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_waiting_pending CHECK (status = 'pending' OR NOT waiting);

-- A replay asks for what has failed since a moment: when an event happened may be hours before its last attempt.
ALTER TABLE webhook_deliveries ADD COLUMN failed_at timestamptz(6);
UPDATE webhook_deliveries
   SET failed_at = coalesce((attempts -> -1 ->> 'attemptedAt')::timestamptz, created_at) WHERE status = 'failed';
ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_failed_at CHECK ((status = 'failed') = (failed_at IS NOT NULL));
CREATE INDEX webhook_deliveries_failed_idx ON webhook_deliveries (endpoint_id, failed_at) WHERE failed_at IS NOT NULL;

DROP INDEX webhook_deliveries_lane_idx;
CREATE INDEX webhook_deliveries_lane_idx ON webhook_deliveries (endpoint_id, due_at) WHERE status = 'pending' AND NOT waiting;
CREATE INDEX webhook_deliveries_waiting_idx ON webhook_deliveries (due_at) WHERE waiting;
