import pg from "pg";

/**
 * What a refused request may change, and nothing else: columns by table, or `"*"` for the whole table. Every other table
 * and column is watched, so a new one cannot escape.
 */
const touchedByRefusals: Record<string, readonly string[] | "*"> = {
  // When a key was last used, at most once a minute.
  "public.api_keys": ["last_used_at"],
  // A session is extended once a day; when it was last used, at most once a minute.
  "public.sessions": ["expires_at", "last_seen_at"],
  // An upload is leased while its file is judged. Whether it is finished is watched.
  "public.uploads": ["sealed_key", "sealing_until"],
  // Before a payout is refused, the payment processor is asked whether its account is ready by now.
  "public.payout_accounts": ["active", "revision", "updated_at"],
  // A code of the second factor is counted before it is checked.
  "public.totp_factors": ["attempts", "next_attempt_at"],
  // Whoever reads the log numbers what others have recorded; `events` itself is watched.
  "public.event_log": "*",
  "public.event_log_entries": "*",
  "public.event_log_queue": "*",
  "public.event_log_state": "*",
  // Counting requests is what a rate limiter does.
  "public.rate_limits": "*",
};

/** A row that a committed transaction inserted, changed or deleted. */
export interface Change {
  atMs: number;
  table: string;
  operation: string;
}

const recorder = `
  CREATE SCHEMA hostile;
  CREATE UNLOGGED TABLE hostile.changes (
    at timestamptz NOT NULL DEFAULT clock_timestamp(), transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    table_name text NOT NULL, operation text NOT NULL, idempotency_key text);
  CREATE FUNCTION hostile.record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    IF TG_OP = 'UPDATE' AND to_jsonb(OLD) - coalesce(TG_ARGV, '{}') = to_jsonb(NEW) - coalesce(TG_ARGV, '{}') THEN
      RETURN NULL;
    END IF;
    INSERT INTO hostile.changes (table_name, operation, idempotency_key)
    VALUES (TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP,
            CASE TG_TABLE_NAME WHEN 'idempotency_keys' THEN
              (SELECT concat_ws('/', kept ->> 'user_id', kept ->> 'key')
               FROM (SELECT to_jsonb(CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END) AS kept) changed) END);
    RETURN NULL;
  END $$;`;

/**
 * Gives every table a trigger that records each changed row in the same transaction, so that what is rolled back leaves no
 * record. An UPDATE that changes no watched column is not a change.
 */
export async function watchChanges(pool: pg.Pool): Promise<void> {
  await pool.query(recorder);
  const { rows } = await pool.query<{ schema: string; name: string }>(`
    SELECT schemaname AS schema, tablename AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'hostile')`);
  for (const { schema, name } of rows) {
    const touched = touchedByRefusals[`${schema}.${name}`] ?? [];
    if (touched === "*") continue;
    const table = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
    await pool.query(`CREATE TRIGGER hostile_record AFTER INSERT OR UPDATE OR DELETE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION hostile.record(${touched.map((column) => pg.escapeLiteral(column)).join(", ")})`);
  }
}

/**
 * Returns the changes since the last call, oldest first, without those that the payment processor's own events made: they
 * arrive some time after the request that caused them. A claim of an `Idempotency-Key` that was released again is no change.
 */
export async function takeChanges(pool: pg.Pool): Promise<Change[]> {
  const { rows } = await pool.query<Change>(`
    WITH taken AS (DELETE FROM hostile.changes RETURNING *)
    SELECT (extract(epoch FROM at) * 1000)::float8 AS "atMs", table_name AS table, operation FROM taken
    WHERE transaction NOT IN (SELECT transaction FROM taken WHERE table_name = 'public.processor_events')
      AND (idempotency_key IS NULL OR idempotency_key IN (
        SELECT idempotency_key FROM taken WHERE idempotency_key IS NOT NULL GROUP BY idempotency_key
        HAVING count(*) FILTER (WHERE operation = 'INSERT') <> count(*) FILTER (WHERE operation = 'DELETE')))
    ORDER BY at`);
  return rows;
}
