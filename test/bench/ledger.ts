import type pg from "pg";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { ledgerOver } from "../../server/store/ledger.ts";
import { type Bench, interleave, type Measurement } from "./setup/bench.ts";

const CLIENTS = 20;
const ROUNDS = 6;
const SECONDS = 2;
const WALLETS = [10, 10_000];
const TASKS = 10_000;
const FUNDS_CENTS = 1_000_000_000_000;

interface Ids {
  users: string[];
  tasks: string[];
}

/**
 * Payments a second from one wallet to another: our ledger's one call against what a service would write by hand, that
 * is `SELECT … FOR UPDATE`, `UPDATE`, `INSERT` in an interactive transaction from Node. The plain side is the leanest of
 * its kind: it locks, changes and writes both sides with one statement each, and keeps no references to tasks, no
 * gapless versions and no check of the sum; ours does.
 */
const bench: Bench = async ({ databaseUrl, log, onEnd }) => {
  const database = openDatabase(databaseUrl, { poolSize: CLIENTS });
  onEnd(database.close);
  const ids = await seed(database.pool);
  const measurements: Measurement[] = [];
  for (const count of WALLETS) {
    const users = ids.users.slice(0, count);
    const ours = () => transfersPerSecond(payOnce(database, { ...ids, users }));
    const plain = () => transfersPerSecond(payPlainly(database.pool, users));
    await ours();
    await plain();
    measurements.push({
      what: `payments over ${count.toLocaleString("en")} wallets, ${CLIENTS} clients`,
      unit: "transfers/s",
      ...(await interleave(ROUNDS, ours, plain)),
      against: "SELECT … FOR UPDATE, UPDATE, INSERT",
      atLeast: 2,
    });
    log(`${count} wallets done`);
  }
  return measurements;
};
export default bench;

/** The same people with the same money on both sides; the plain side has tables of the same kind. */
async function seed(pool: pg.Pool): Promise<Ids> {
  const most = Math.max(...WALLETS);
  await pool.query(
    `INSERT INTO users (email, password_hash, display_name)
     SELECT 'person' || n || '@example.com', '', 'Person' FROM generate_series(1, $1::int) AS n`,
    [most],
  );
  await pool.query(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at)
     SELECT id, 'A task', 'To be done.', 100, '{}', clock_timestamp() - row_number() OVER () * interval '1 second'
     FROM users LIMIT $1`,
    [TASKS],
  );
  await pool.query(`SELECT ledger_exchange(id, 'topup', $1::bigint, 'bench ' || id) FROM users`, [FUNDS_CENTS]);
  await pool.query(
    `WITH transfer AS (INSERT INTO ledger_transfers DEFAULT VALUES RETURNING id)
     INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
     SELECT transfer.id, users.id, 'hold', bucket, cents
     FROM transfer, users, (VALUES ('available', -$1::bigint), ('held', $1::bigint)) AS side (bucket, cents)`,
    [FUNDS_CENTS],
  );
  await pool.query(`
    CREATE TABLE plain_wallets (
      user_id uuid PRIMARY KEY REFERENCES users (id), balance_cents bigint NOT NULL CHECK (balance_cents >= 0));
    CREATE TABLE plain_entries (
      id uuid PRIMARY KEY DEFAULT uuid_v7(), user_id uuid NOT NULL REFERENCES users (id), amount_cents bigint NOT NULL,
      balance_after_cents bigint NOT NULL, created_at timestamptz(6) NOT NULL DEFAULT clock_timestamp());
    CREATE INDEX ON plain_entries (user_id, created_at)`);
  await pool.query("INSERT INTO plain_wallets SELECT id, $1::bigint FROM users", [FUNDS_CENTS]);
  await pool.query("VACUUM ANALYZE");
  const { rows: users } = await pool.query<{ id: string }>("SELECT id FROM users");
  const { rows: tasks } = await pool.query<{ id: string }>("SELECT id FROM tasks");
  return { users: users.map(({ id }) => id), tasks: tasks.map(({ id }) => id) };
}

/** Runs `transfer` with all clients for a while. */
async function transfersPerSecond(transfer: () => Promise<void>): Promise<number> {
  const began = performance.now();
  let done = 0;
  const client = async () => {
    while (performance.now() - began < SECONDS * 1000) {
      await transfer();
      done++;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return (done * 1000) / (performance.now() - began);
}

function pick<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

function pickTwo(users: readonly string[]): [string, string] {
  for (;;) {
    const [from, to] = [pick(users), pick(users)];
    if (from !== to) return [from, to];
  }
}

function payOnce(database: Database, { users, tasks }: Ids): () => Promise<void> {
  const ledger = ledgerOver(database);
  return async () => {
    const [buyer, bidder] = pickTwo(users);
    await ledger.pay(buyer, bidder, 1, { taskId: pick(tasks) });
  };
}

function payPlainly(pool: pg.Pool, users: readonly string[]): () => Promise<void> {
  return async () => {
    const [from, to] = pickTwo(users);
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      const { rows } = await client.query<{ user_id: string; balance_cents: number }>(
        "SELECT user_id, balance_cents FROM plain_wallets WHERE user_id IN ($1, $2) ORDER BY user_id FOR UPDATE",
        [from, to],
      );
      const balances = new Map(rows.map((row) => [row.user_id, row.balance_cents]));
      const left = (balances.get(from) ?? 0) - 1;
      const right = (balances.get(to) ?? 0) + 1;
      if (left < 0) throw new Error("insufficient funds");
      await client.query(
        `UPDATE plain_wallets w SET balance_cents = changed.balance_cents
         FROM (VALUES ($1::uuid, $2::bigint), ($3::uuid, $4::bigint)) AS changed (user_id, balance_cents)
         WHERE w.user_id = changed.user_id`,
        [from, left, to, right],
      );
      await client.query(
        `INSERT INTO plain_entries (user_id, amount_cents, balance_after_cents)
         VALUES ($1, -1, $2), ($3, 1, $4)`,
        [from, left, to, right],
      );
      await client.query("COMMIT");
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    } finally {
      client.release();
    }
  };
}
