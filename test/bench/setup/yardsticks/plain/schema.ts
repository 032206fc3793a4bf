import pg from "pg";

/**
 * Turns a copy of the service's tables into what somebody would have who lets the program keep the books: the same columns,
 * keys and foreign keys, without triggers, without the search's columns and indexes, without the constraints that keep timestamps apart and versions
 * gapless, and with Postgres' own clock.
 */
export async function makePlain(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows: triggered } = await client.query<{ name: string }>(
    "SELECT DISTINCT tgrelid::regclass::text AS name FROM pg_trigger WHERE NOT tgisinternal AND tgrelid::regclass::text NOT LIKE 'graphile%'",
  );
  for (const { name } of triggered) await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
  const { rows: clocked } = await client.query<{ table: string; column: string }>(`
    SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
    WHERE table_schema = 'public' AND column_default = 'service_now()'`);
  for (const { table, column } of clocked) {
    await client.query(`ALTER TABLE ${table} ALTER COLUMN ${column} SET DEFAULT now()`);
  }
  await client.query(`
    ALTER TABLE tasks DROP COLUMN folded_title CASCADE, DROP COLUMN folded_tags CASCADE;
    ALTER TABLE tasks DROP CONSTRAINT tasks_feed_key;
    ALTER TABLE bids DROP CONSTRAINT bids_feed_key;
    ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_outside_has_no_user, DROP CONSTRAINT ledger_entries_version_key,
      DROP CONSTRAINT ledger_entries_feed_key;
    CREATE INDEX ON ledger_entries (user_id, created_at DESC);
    ANALYZE ledger_entries`);
  await client.end();
}
