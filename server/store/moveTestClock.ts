import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { findScheduled } from "./crontab.ts";
import { FOLLOWER_NAME } from "./followTestClock.ts";
import { readAheadMs, TEST_CLOCK_CHANNEL } from "./testClock.ts";

/** An advisory lock of our own: one process at a time moves the clock. */
const MOVE_LOCK = 72707371;
/** How long a process waits for another one that moves the clock, which takes up to 40 seconds. */
const LOCK_TIMEOUT = "45s";
/** How long a move waits for processes to notice. One that is suspended notices later. */
const NOTICE_TIMEOUT_MS = 5_000;
const NOTICE_POLL_MS = 10;

/** The right to move the database's test clock, which one process has at a time. */
export interface ClockMover {
  /** By how many milliseconds the service's time is ahead of the real one. */
  readAheadMs(): Promise<number>;
  /**
   * Moves the service's time to this far ahead. In one transaction, jobs that wait for a time come as much earlier, and the
   * regular jobs that fall due in between are added; so a process that dies before or after leaves nothing half done. Then
   * waits until every process has noticed. Returns the names of the regular jobs.
   */
  moveTo(aheadMs: number): Promise<string[]>;
}

/** Runs `work` while no other process moves the clock. The lock ends with its connection, and so with its process. */
export async function withClockMover<Result>(
  databaseUrl: string,
  work: (mover: ClockMover) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "rebid clock mover" });
  client.on("error", () => undefined); // The statement under way fails, too.
  await client.connect();
  try {
    await client.query(`SET lock_timeout = '${LOCK_TIMEOUT}'`);
    await client.query("SELECT pg_advisory_lock($1)", [MOVE_LOCK]);
    return await work({ readAheadMs: () => readAheadMs(client), moveTo: (aheadMs) => move(client, aheadMs) });
  } finally {
    await client.end();
  }
}

async function move(client: pg.Client, aheadMs: number): Promise<string[]> {
  const before = await readAheadMs(client);
  const realMs = Date.now();
  const scheduled = findScheduled(new Date(realMs + before), new Date(realMs + aheadMs));
  await client.query("BEGIN");
  await client.query("UPDATE test_clock.state SET ahead_ms = $1", [aheadMs]);
  await client.query(
    `SELECT graphile_worker.reschedule_jobs(ARRAY[id], run_at => run_at - $1 * interval '1 millisecond')
     FROM graphile_worker.jobs WHERE run_at > now() AND locked_at IS NULL`,
    [aheadMs - before],
  );
  await client.query(
    `SELECT graphile_worker.add_job(name, '{}'::json, job_key => 'test clock: ' || name)
     FROM unnest($1::text[]) AS scheduled (name)`,
    [scheduled],
  );
  await client.query("SELECT pg_notify($1, $2)", [TEST_CLOCK_CHANNEL, String(aheadMs)]);
  await client.query("COMMIT");
  await untilNoticed(client, aheadMs);
  return scheduled;
}

async function untilNoticed(client: pg.Client, aheadMs: number): Promise<void> {
  const deadline = performance.now() + NOTICE_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const { rowCount } = await client.query(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND application_name ~ ('^' || $1::text || '\\d+$')
         AND substr(application_name, length($1::text) + 1)::bigint < $2::bigint`,
      [FOLLOWER_NAME, aheadMs],
    );
    if (rowCount === 0) return;
    await sleep(NOTICE_POLL_MS);
  }
}
