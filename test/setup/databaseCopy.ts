import type { TestService } from "./testService.ts";

/**
 * Copies every table of the service, and returns a function that puts the database back to that time, as a restore does, past
 * the triggers that protect the money. The database itself stays, so that it is told that it has another origin.
 */
export async function copyDatabase({ owner: { pool } }: TestService): Promise<() => Promise<void>> {
  const { rows: tables } = await pool.query<{ name: string; copy: string; columns: string }>(`
    SELECT c.oid::regclass::text AS name, format('copied.%I', n.nspname || '_' || c.relname) AS copy,
           string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      AND a.attidentity <> 'a'
    WHERE c.relkind = 'r' AND (n.nspname = 'public' OR c.relname = '_private_jobs') AND c.relname <> '_prisma_migrations'
    GROUP BY c.oid, n.nspname, c.relname`);
  await pool.query("DROP SCHEMA IF EXISTS copied CASCADE; CREATE SCHEMA copied");
  for (const { name, copy } of tables) await pool.query(`CREATE TABLE ${copy} AS TABLE ${name}`);
  const statements = [
    ...tables.map(({ name }) => `ALTER TABLE ${name} DISABLE TRIGGER ALL`),
    ...tables.map(({ name }) => `DELETE FROM ${name}`),
    ...tables.map(({ name, copy, columns }) => `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM ${copy}`),
    ...tables.map(({ name }) => `ALTER TABLE ${name} ENABLE TRIGGER ALL`),
    "UPDATE reconciliation_state SET origin = 'another cluster'",
  ];
  return async () => {
    await pool.query(`BEGIN; ${statements.join("; ")}; COMMIT`);
    for (const { alwaysOn } of await alwaysTriggers(pool)) await pool.query(alwaysOn);
  };
}

/** ENABLE TRIGGER ALL leaves those of the ledger as ordinary ones. */
async function alwaysTriggers(pool: TestService["owner"]["pool"]): Promise<{ alwaysOn: string }[]> {
  const { rows } = await pool.query<{ alwaysOn: string }>(`
    SELECT format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', tgrelid::regclass, tgname) AS "alwaysOn"
    FROM pg_trigger WHERE tgname IN ('ledger_entries_append_only', 'ledger_transfers_append_only', 'wallets_not_deleted',
      'ledger_entries_balanced', 'wallets_equal_entries')`);
  return rows;
}
