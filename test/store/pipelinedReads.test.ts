import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let database: Database;
beforeEach(() => {
  database = openDatabase(service.databaseUrl, { poolSize: 6 });
});
afterEach(() => database.close());

interface Answer {
  /** The process of Postgres that answered. */
  pid: number;
  number: number;
}

async function read(number = 0): Promise<Answer> {
  const statement = sql`SELECT pg_backend_pid() AS pid, ${number}::int AS number`;
  const [row] = await database.query<Answer>(statement, { sharesConnection: true });
  return row ?? { pid: 0, number: -1 };
}

/** The processes that run a statement of `sleepingRead`. */
async function sleepers(): Promise<number[]> {
  const { rows } = await service.owner.pool.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query = 'SELECT pg_sleep(600)'",
  );
  return rows.map(({ pid }) => pid);
}

/** Begins a read that lasts until it is cancelled, waits until it counts as slow, and returns how it will end. */
async function beginSleeping(): Promise<{ end: Promise<string> }> {
  const before = await sleepers();
  const end = database.query(sql`SELECT pg_sleep(600)`, { sharesConnection: true }).then(
    () => "answered",
    (error: Error) => error.message,
  );
  await expect.poll(async () => (await sleepers()).length).toBe(before.length + 1);
  await sleep(60);
  return { end };
}

const endSleepers = async (how: "pg_cancel_backend" | "pg_terminate_backend") =>
  service.owner.pool.query(`SELECT ${how}(pid) FROM unnest($1::int[]) AS pid`, [await sleepers()]);

test("reads that come together share a connection, and each gets its own answer", async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, (_, number) => read(number)));
  expect(answers.map(({ number }) => number)).toEqual(answers.map((_, number) => number));
  expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
});

test("a slow read does not hold up what comes after it, even when all shared connections are slow", async () => {
  const slow = [];
  for (let count = 0; count < 3; count++) {
    slow.push(await beginSleeping());
    expect((await read()).pid).toBeGreaterThan(0);
  }
  const answers = await Promise.all([read(), read()]);
  expect(new Set(answers.map(({ pid }) => pid)).size).toBe(2);
  await endSleepers("pg_cancel_backend");
  const ends = await Promise.all(slow.map(({ end }) => end));
  expect(ends).toEqual(Array(3).fill("canceling statement due to user request"));
  // They are shared again.
  const [one, other] = await Promise.all([read(), read()]);
  expect(one?.pid).toBe(other?.pid);
});

test("a read that Postgres refuses fails alone", async () => {
  const [before, refused, after] = await Promise.allSettled([
    read(1),
    database.query(sql`SELECT 1 / 0`, { sharesConnection: true }),
    read(2),
  ]);
  expect(refused).toMatchObject({ status: "rejected", reason: { message: "division by zero" } });
  expect([before, after]).toMatchObject([{ value: { number: 1 } }, { value: { number: 2 } }]);
});

test("a connection that breaks fails what it had taken, and nothing after it", async () => {
  const { end } = await beginSleeping();
  const [pid] = await sleepers();
  await endSleepers("pg_terminate_backend");
  expect(await end).toMatch(/terminat/);
  const answers = await Promise.all([read(1), read(2)]);
  expect(answers.map(({ number }) => number)).toEqual([1, 2]);
  expect(answers.map((answer) => answer.pid)).not.toContain(pid);
});

test("a read that finds no server fails, and the next one tries again", async () => {
  const nowhere = openDatabase("postgres://nobody@127.0.0.1:1/nothing", { poolSize: 6 });
  const statement = sql`SELECT 1`;
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(nowhere.query(statement, { sharesConnection: true })).rejects.toThrow();
  await nowhere.close();
});
