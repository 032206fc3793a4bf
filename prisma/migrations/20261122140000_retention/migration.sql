-- What the pruning jobs delete is found by an index, however much is kept beside it.
-- docs/guides/production.md "How long data is kept" has the times.

CREATE INDEX sessions_expires_idx ON sessions (expires_at);
CREATE INDEX account_tokens_created_idx ON account_tokens (created_at);
-- Most keys never end, and are not in it.
CREATE INDEX api_keys_ended_idx ON api_keys (least(revoked_at, expires_at)) WHERE least(revoked_at, expires_at) < 'infinity';

CREATE INDEX topups_unpaid_idx ON topups (updated_at) WHERE status IN ('failed', 'expired');
CREATE INDEX processor_events_processed_idx ON processor_events (processed_at) WHERE processed_at IS NOT NULL;

CREATE INDEX webhook_endpoints_deleted_idx ON webhook_endpoints (deleted_at) WHERE deleted_at IS NOT NULL;
-- To find out whether a host still has an endpoint, also for its foreign key.
CREATE INDEX webhook_endpoints_host_idx ON webhook_endpoints (host);

-- The failed deliveries of an endpoint, as they are listed.
CREATE INDEX webhook_deliveries_failed_feed_idx ON webhook_deliveries (endpoint_id, created_at DESC) WHERE failed_at IS NOT NULL;

-- The samples of a bid are counted before each further one.
CREATE INDEX artifacts_bid_idx ON artifacts (bid_id);
