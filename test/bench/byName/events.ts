import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { EventFollower } from "../../../server/events/follower.ts";
import { advanceLog, readLog } from "../../../server/events/log.ts";
import { startSequencer } from "../../../server/events/sequencer.ts";
import { queryOne, sql } from "../../../server/store/connection.ts";
import { openDatabase } from "../../../server/store/database.ts";
import { type Bench, interleave, type Measurement } from "../setup/bench.ts";

/** `EVENTS=100000` writes fewer. */
const EVENTS = Number(process.env.EVENTS ?? 5_000_000);
const MANY = EVENTS / 10;
const FEW = 50;
const PAGES = 300;
const CHANGES = 300;
const WAITING = 2_000;

/**
 * The event log: how long after its commit an event is told, what 2,000 who wait cost, and what a page of 5,000,000
 * events costs a caller with many of them, against one with few.
 */
const bench: Bench = async ({ databaseUrl, log, onEnd }) => {
  const database = openDatabase(databaseUrl, { poolSize: 8 });
  onEnd(() => database.close());
  const quiet = { warn: () => {}, error: () => {} };
  const { userId, taskId } = await queryOne<{ userId: string; taskId: string }>(
    database,
    sql`
    WITH person AS (
      INSERT INTO users (email, password_hash, display_name) VALUES ('bench@example.com', '', 'Bench') RETURNING id)
    INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status)
    SELECT id, 'Bench', 'Bench', 100, '{}', 'cancelled' FROM person RETURNING buyer_id AS "userId", id AS "taskId"`,
  );

  const sequencer = startSequencer({ database, log: quiet });
  const follower = new EventFollower({ database, log: quiet, limits: { perUser: WAITING } });
  const never = new AbortController().signal;
  const data = { message: message(userId, taskId) };
  const delays: number[] = [];
  let after = await advanceLog(database);
  for (let change = 0; change < CHANGES; change++) {
    const seat = follower.takeSeat({ userId, keyId: null, types: null }, "here");
    const waiting = seat.wait(after, { timeoutMs: 10_000, signal: never });
    await sleep(Math.random() * 100);
    await database.transaction(async (tx) => tx.events.record("message.posted", data, [userId]));
    const committedMs = performance.now();
    after = (await waiting).next;
    delays.push(performance.now() - committedMs);
    seat.leave();
  }
  delays.sort((a, b) => a - b);
  const p99 = delays[Math.floor(delays.length * 0.99)] ?? Number.NaN;
  log(
    `delay of a message behind its commit: median ${delays[Math.floor(delays.length / 2)]?.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
  );
  await sequencer.stop();

  globalThis.gc?.();
  const beforeBytes = process.memoryUsage().heapUsed;
  const waits = Array.from({ length: WAITING }, () =>
    follower
      .takeSeat({ userId: crypto.randomUUID(), keyId: null, types: null }, "here")
      .wait(after, { timeoutMs: 600_000, signal: never }),
  );
  log(
    `2,000 who wait: ${((process.memoryUsage().heapUsed - beforeBytes) / 1e6).toFixed(1)} MB without their connections`,
  );
  follower.stop();
  await Promise.all(waits);

  const { many, few } = await seed(databaseUrl);
  const pagesPerSecond = async (reader: string) => {
    const end = await advanceLog(database);
    const startedMs = performance.now();
    for (let page = 0; page < PAGES; page++) {
      const position = Math.floor((end.position * (page + 1)) / (PAGES + 1));
      const { eventId } = await queryOne<{ eventId: string }>(
        database,
        sql`SELECT event_id AS "eventId" FROM event_log WHERE position = ${position}`,
      );
      await readLog(
        database,
        { userId: reader, keyId: null, types: null },
        { after: { ...end, position, eventId }, limit: 50 },
      );
    }
    return (PAGES * 1000) / (performance.now() - startedMs);
  };
  await pagesPerSecond(many);
  const figures = await interleave(
    6,
    () => pagesPerSecond(many),
    () => pagesPerSecond(few),
  );
  const what = `a page of ${EVENTS.toLocaleString("en")} events, for a caller with ${MANY.toLocaleString("en")} of them`;
  const measurements: Measurement[] = [
    { what, unit: "pages/s", ...figures, against: `one with ${FEW}`, atLeast: 0.5, atMost: 2 },
    {
      what: "delay of a message behind its commit, p99",
      unit: "ms",
      ours: p99,
      baseline: 100,
      against: "the aim",
      atMost: 1,
    },
  ];
  return measurements;
};
export default bench;

/** What the event of a message has. */
const message = (senderId: string, taskId: string) => ({
  ...{ id: crypto.randomUUID(), bidId: crypto.randomUUID(), taskId, role: "buyer" as const },
  sender: { id: senderId, displayName: "Bench" },
  ...{ text: "Here is page one.", fileCount: 0, createdAt: "2026-11-20T12:00:00.123456Z" },
});

/** Fills the log: one event in 50 is everyone's, one in 10 belongs to `many`, 50 to `few`, the others to other people. */
async function seed(databaseUrl: string): Promise<{ many: string; few: string }> {
  const [many, few] = [crypto.randomUUID(), crypto.randomUUID()];
  const client = new pg.Client({ connectionString: databaseUrl });
  // Its error would hide another one, at which the bench stops the database.
  client.on("error", () => {});
  await client.connect();
  await client.query("SET session_replication_role = replica"); // without foreign keys, which would take minutes
  await client.query("TRUNCATE event_log, event_log_entries, event_log_queue");
  await client.query(
    `CREATE TEMPORARY TABLE seeded AS
     SELECT n AS position, uuid_v7() AS id,
            CASE WHEN n % 50 = 0 THEN NULL WHEN n % 10 = 1 THEN $1::uuid WHEN n % ($3::int / $4::int) = 2 THEN $2::uuid
                 ELSE gen_random_uuid() END AS owner
     FROM generate_series(1, $3::int) n`,
    [many, few, EVENTS, FEW],
  );
  await client.query(
    `INSERT INTO events (id, type, recipients, data, fanned_out_at)
     SELECT id, 'task.updated', CASE WHEN owner IS NOT NULL THEN ARRAY[owner] END, '{"task":{}}', now() FROM seeded`,
  );
  await client.query(
    `INSERT INTO event_log (position, event_id, type, recipients)
     SELECT position, id, 'task.updated', CASE WHEN owner IS NOT NULL THEN ARRAY[owner] END FROM seeded`,
  );
  await client.query(
    `INSERT INTO event_log_entries (user_id, position, type, event_id)
     SELECT owner, position, 'task.updated', id FROM seeded WHERE owner IS NOT NULL`,
  );
  await client.query(
    "UPDATE event_log_state SET last_position = $1::int, last_event_id = (SELECT id FROM seeded WHERE position = $1::int)",
    [EVENTS],
  );
  await client.query("VACUUM ANALYZE event_log, event_log_entries, events");
  await client.end();
  return { many, few };
}
