import pg from "pg";
import { type Bench, interleave, type Measurement } from "./setup/bench.ts";
import { startPayer } from "./setup/processes.ts";

const CLIENTS = 20;
const ROUNDS = 5;
const SECONDS = 2;
const WALLETS = [10, 10_000];
const TASKS = 10_000;
const FUNDS_CENTS = 1_000_000_000_000;

/**
 * Payments a second from one wallet to another: our ledger's one call against what a service would write by hand, that
 * is `SELECT … FOR UPDATE`, `UPDATE`, `INSERT` in an interactive transaction from Node (`setup/payer.ts`).
 */
const bench: Bench = async (environment) => {
  await seed(environment.databaseUrl);
  const ours = await startPayer(environment, "ours");
  const plain = await startPayer(environment, "plain");
  const measurements: Measurement[] = [];
  for (const wallets of WALLETS) {
    const load = { wallets, clients: CLIENTS, seconds: SECONDS };
    await ours.run(load);
    await plain.run(load);
    measurements.push({
      what: `payments over ${wallets.toLocaleString("en")} wallets, ${CLIENTS} clients`,
      unit: "transfers/s",
      ...(await interleave(
        ROUNDS,
        () => ours.run(load),
        () => plain.run(load),
      )),
      against: "the lean interactive transaction",
      ...{ atLeast: 2.2, judged: "worst" },
    });
    environment.log(`${wallets} wallets done`);
  }
  return measurements;
};
export default bench;

/** The same people with the same money on both sides; the plain side has tables of the same kind. */
async function seed(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const most = Math.max(...WALLETS);
  await client.query(
    `INSERT INTO users (email, password_hash, display_name)
     SELECT 'person' || n || '@example.com', '', 'Person' FROM generate_series(1, $1::int) AS n`,
    [most],
  );
  await client.query(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at)
     SELECT id, 'A task', 'To be done.', 100, '{}', clock_timestamp() - row_number() OVER () * interval '1 second'
     FROM users LIMIT $1`,
    [TASKS],
  );
  await client.query(`SELECT ledger_exchange(id, 'topup', $1::bigint, 'bench ' || id) FROM users`, [FUNDS_CENTS]);
  await client.query(
    `WITH transfer AS (INSERT INTO ledger_transfers DEFAULT VALUES RETURNING id)
     INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
     SELECT transfer.id, users.id, 'hold', bucket, cents
     FROM transfer, users, (VALUES ('available', -$1::bigint), ('held', $1::bigint)) AS side (bucket, cents)`,
    [FUNDS_CENTS],
  );
  await client.query(`
    CREATE TABLE plain_wallets (
      user_id uuid PRIMARY KEY REFERENCES users (id), balance_cents bigint NOT NULL CHECK (balance_cents >= 0));
    CREATE TABLE plain_entries (
      id uuid PRIMARY KEY DEFAULT uuid_v7(), user_id uuid NOT NULL REFERENCES users (id), amount_cents bigint NOT NULL,
      balance_after_cents bigint NOT NULL, created_at timestamptz(6) NOT NULL DEFAULT clock_timestamp());
    CREATE INDEX ON plain_entries (user_id, created_at)`);
  await client.query("INSERT INTO plain_wallets SELECT id, $1::bigint FROM users", [FUNDS_CENTS]);
  await client.query("VACUUM ANALYZE");
  await client.end();
}
