import type pg from "pg";
import { afterEach, expect, test } from "vitest";
import { PatientPool } from "../../server/store/patientPool.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
/** So long that a test would end first. */
const FOREVER_MS = 600_000;

const pools: pg.Pool[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.end();
});

/** A pool of 12 connections that uses 8 until its patience ends. */
function openPool(patienceMs: number, connectionString = service.databaseUrl): PatientPool {
  const pool = new PatientPool({ connectionString, max: 12 }, { few: 8, patienceMs });
  // A pool has ended before its connections have closed, and dropping the database may break these first.
  pool.on("error", () => undefined);
  pools.push(pool);
  return pool;
}

const connect = (pool: pg.Pool, count: number) => Promise.all(Array.from({ length: count }, () => pool.connect()));
const release = (clients: readonly pg.PoolClient[], broken?: Error) => {
  for (const client of clients) client.release(broken);
};

test("many statements that are soon done, alone or in transactions, use few connections", async () => {
  const pool = openPool(FOREVER_MS);
  const numbers = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      if (index % 2 === 0) return (await pool.query("SELECT $1::int AS number", [index])).rows[0].number;
      const client = await pool.connect();
      await client.query("BEGIN");
      const { rows } = await client.query("SELECT $1::int AS number", [index]);
      await client.query("COMMIT");
      client.release();
      return rows[0].number;
    }),
  );
  expect(numbers).toEqual(numbers.map((_, index) => index));
  expect(pool.totalCount).toBe(8);
});

test("who waits gets a released connection, in the order of coming, and a newcomer does not overtake", async () => {
  const pool = openPool(FOREVER_MS);
  const held = await connect(pool, 8);
  const served: string[] = [];
  const ask = (name: string) =>
    pool.connect().then((client) => {
      served.push(name);
      return client;
    });
  const [first, second] = [ask("first"), ask("second")];
  held[0]?.release();
  const newcomer = ask("newcomer");
  expect(pool.waiting).toBe(3);
  expect(await first).toBe(held[0]);
  (await first).release();
  (await second).release();
  (await newcomer).release();
  expect(served).toEqual(["first", "second", "newcomer"]);
  expect(pool.totalCount).toBe(8);
  release(held.slice(1));
});

test("connections that stay in use keep nobody from taking the others, up to the pool's size", async () => {
  const pool = openPool(1);
  const held = await connect(pool, 12);
  expect(pool.totalCount).toBe(12);
  const last = pool.connect();
  await expect.poll(() => pool.waiting).toBe(1);
  release(held);
  (await last).release();
});

test("connections that broke, and attempts that failed, do not count as in use", async () => {
  const pool = openPool(FOREVER_MS);
  for (let round = 0; round < 3; round++) release(await connect(pool, 8), new Error("broken"));
  release(await connect(pool, 8));
  expect(pool.totalCount).toBe(8);

  const nowhere = openPool(FOREVER_MS, "postgres://nobody@127.0.0.1:1/nothing");
  const attempts = await Promise.allSettled(Array.from({ length: 30 }, () => nowhere.connect()));
  expect(attempts.map(({ status }) => status)).toEqual(attempts.map(() => "rejected"));
});
