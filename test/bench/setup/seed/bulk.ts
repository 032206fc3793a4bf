import type pg from "pg";

/**
 * Runs `fill` on these tables without their indexes and unique constraints, and then builds those: to sort all rows once
 * takes a fraction of the time of inserting them one by one in another order. A key that others refer to stays.
 */
export async function withoutIndexes(client: pg.Client, tables: string[], fill: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ drop: string; create: string }>(
    `SELECT CASE WHEN k.oid IS NULL THEN format('DROP INDEX %s', i.indexrelid::regclass)
                 ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, k.conname) END AS drop,
            CASE WHEN k.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
                 ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
                 END AS create
     FROM pg_index i LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u')
     WHERE i.indrelid = ANY ($1::regclass[])
       AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conindid = i.indexrelid)`,
    [tables],
  );
  for (const { drop } of rows) await client.query(drop);
  await fill();
  for (const { create } of rows) await client.query(create);
}

/** The ledger's guards that a session without triggers runs all the same, and which look at each row. */
const guards = [
  { table: "ledger_entries", trigger: "ledger_entries_balanced" },
  { table: "wallets", trigger: "wallets_equal_entries" },
];

/** Runs `fill`, which writes what the ledger itself would write, without those guards. */
export async function withoutLedgerGuards(client: pg.Client, fill: () => Promise<void>): Promise<void> {
  for (const { table, trigger } of guards) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ${trigger}`);
  await fill();
  for (const { table, trigger } of guards) await client.query(`ALTER TABLE ${table} ENABLE ALWAYS TRIGGER ${trigger}`);
}
