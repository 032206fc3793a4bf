-- The counters of the rate limits, shared by all processes. rate-limiter-flexible dictates the columns. Unlogged, because
-- they are worth nothing after a minute: a crash of Postgres only empties the buckets. No index on `expire`, so that every
-- update stays HOT; the job pruneRateLimits reads the whole table.
CREATE UNLOGGED TABLE rate_limits (
  key    varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
) WITH (fillfactor = 50);
COMMENT ON COLUMN rate_limits.key IS 'policy and caller, as in login:192.0.2.7 or reads:<user id>';
COMMENT ON COLUMN rate_limits.points IS 'requests of this window that are counted or leased to a process';
COMMENT ON COLUMN rate_limits.expire IS 'end of the window, in milliseconds since 1970 by the clock of the process that began it';
