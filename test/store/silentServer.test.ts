import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LocalPostgres } from "../../server/local/postgres/process.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { isDatabaseUnavailable } from "../../server/store/databaseErrors.ts";
import { logFailure } from "../../server/store/logFailure.ts";
import { jobPool, type PoolSettings, requestPool } from "../../server/store/poolSettings.ts";

let directory: string;
let postgres: LocalPostgres;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-silent-"));
  postgres = await startPostgres({ directory, durable: false });
});
afterAll(async () => {
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Suspends the server and all its processes: the system goes on accepting connections and bytes for them. */
async function suspend(settings: PoolSettings): Promise<{ resume(): void }> {
  const observer = openDatabase(postgres.url, { ...settings, closesWhenSilent: undefined, poolSize: 1 });
  const backends = await observer.query<{ pid: number }>(sql`SELECT pid FROM pg_stat_activity`);
  await observer.close();
  const [postmaster = ""] = (await readFile(join(directory, "postgres", "postmaster.pid"), "utf8")).split("\n");
  const pids = [Number(postmaster), ...backends.map(({ pid }) => pid)];
  const send = (signal: NodeJS.Signals) => {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended.
      }
    }
  };
  send("SIGSTOP");
  return { resume: () => send("SIGCONT") };
}

test.each([
  ["requests", requestPool, sql`SELECT pg_sleep(8)`],
  ["jobs", jobPool, sql`SELECT pg_sleep(250)`],
])(
  "a suspended server is noticed by all connections of %s, and used again once it goes on",
  async (_name, settings, slow) => {
    const database = openDatabase(postgres.url, settings);
    const failureOf = (work: Promise<unknown>) => work.then(() => null, isDatabaseUnavailable);
    const alone = failureOf(database.query(slow));
    const inTransaction = failureOf(database.transaction((tx) => tx.query(slow)));
    const listening = await database.pool.connect();
    const ended = new Promise<void>((resolve) => listening.once("end", resolve));
    await listening.query("LISTEN something");
    const { resume } = await suspend(settings);
    try {
      expect(await Promise.all([alone, inTransaction])).toEqual([true, true]);
      // The job queue's connection asks nothing.
      if (settings === jobPool) await ended;
    } finally {
      resume();
    }
    listening.release(true);
    await expect.poll(() => database.query(sql`SELECT 1 AS one`).catch(() => null)).toEqual([{ one: 1 }]);
    await database.close();
  },
);

test("while the database is away, what fails in the background is one line a minute, and a bug is one each", () => {
  const lines: { fields: object; message: string }[] = [];
  const write = (fields: object, message: string) => void lines.push({ fields, message });
  const log = { warn: write, error: write };
  const away = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:5432"), { code: "ECONNREFUSED" });
  for (let round = 0; round < 20; round++) {
    logFailure(log, away, { sweep: "dueDeliveries" }, "a sweep failed");
    logFailure(log, new AggregateError([away]), {}, "a worker heartbeat failed");
  }
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain("at ");
  for (let round = 0; round < 2; round++) logFailure(log, new TypeError("a bug"), {}, "a sweep failed");
  expect(lines.map(({ message }) => message).slice(1)).toEqual(["a sweep failed", "a sweep failed"]);
});
