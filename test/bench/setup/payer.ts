import type pg from "pg";
import { type Database, openDatabase } from "../../../server/store/database.ts";
import { movementsWithCommit, writeMovement } from "../../../server/store/ledger.ts";
import type { PaymentLoad } from "./processes.ts";

/**
 * One side of the bench of payments, in a process and with connections of its own: our ledger's one call, or (`SIDE=plain`) what a
 * service would write by hand.
 */
interface Ids {
  users: string[];
  tasks: string[];
}

/** Runs `transfer` with all clients for a while. */
async function transfersPerSecond(transfer: () => Promise<void>, { clients, seconds }: PaymentLoad): Promise<number> {
  const began = performance.now();
  let done = 0;
  const client = async () => {
    while (performance.now() - began < seconds * 1000) {
      await transfer();
      done++;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
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
  return async () => {
    const [buyer, bidder] = pickTwo(users);
    const written: Promise<void>[] = [];
    const ledger = movementsWithCommit((movement) => written.push(writeMovement(database, movement)));
    ledger.pay(buyer, bidder, 1, { taskId: pick(tasks) });
    await Promise.all(written);
  };
}

/**
 * The leanest of its kind: it locks, changes and writes both sides with one statement each, in an interactive transaction, and keeps
 * no references to tasks, no gapless versions and no check of the sum; ours does.
 */
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

const databaseUrl = process.env.DATABASE_URL ?? "";
const isOurs = process.env.SIDE === "ours";
const database = openDatabase(databaseUrl, { poolSize: 20 });
const { rows: users } = await database.pool.query<{ id: string }>("SELECT id FROM users");
const { rows: tasks } = await database.pool.query<{ id: string }>("SELECT id FROM tasks");

process.on("message", (load: PaymentLoad) => {
  const ids = { users: users.slice(0, load.wallets).map(({ id }) => id), tasks: tasks.map(({ id }) => id) };
  const transfer = isOurs ? payOnce(database, ids) : payPlainly(database.pool, ids.users);
  transfersPerSecond(transfer, load).then(
    (figure) => process.send?.(figure),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once("SIGTERM", () => process.exit(0));
console.log("ready");
