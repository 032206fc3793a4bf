-- Webhooks can have types of the event log that are not in the closed set of `events`.

ALTER TABLE webhook_endpoints ADD COLUMN log_events text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN webhook_endpoints.log_events IS
  'types that only the event log has otherwise; sent when the endpoint''s owner is a recipient';
COMMENT ON COLUMN events.fanned_out_at IS
  'set in the transaction that writes the event''s deliveries, and from the start for a type of the log that no recipient''s endpoint has';
