-- The jobs themselves are in graphile-worker's own schema, which it creates and migrates.

-- Heartbeats of running workers. When one goes silent, its locked jobs are released to the others; graphile-worker alone
-- would keep them locked for four hours.
CREATE TABLE job_workers (
  worker_id text PRIMARY KEY,
  seen_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
