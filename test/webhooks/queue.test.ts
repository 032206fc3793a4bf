import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { NIL_UUID, sql } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { readBacklog } from "../../server/webhooks/backlog.ts";
import { complete, stopDeliveries } from "../../server/webhooks/complete.ts";
import type { FreeLanes } from "../../server/webhooks/lanes.ts";
import { promoteDueRetries, takeDue } from "../../server/webhooks/take.ts";
import { createTestDatabase, type TestDatabase } from "../setup/testDatabase.ts";

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  // One connection, so that the statistics that a test reads are of its own statements.
  database = openDatabase(testDatabase.url, { poolSize: 1 });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(() => database.query(sql`DELETE FROM webhook_deliveries`));

const now = new Date("2026-11-20T12:00:00.000Z");
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000);

/** Creates `count` endpoints, each with one delivery due in `dueInSeconds`, and returns the endpoints' ids. */
async function createEndpoints(count: number, dueInSeconds: number): Promise<string[]> {
  const rows = await database.query<{ endpointId: string }>(sql`
    WITH owner AS (
      INSERT INTO users (email, password_hash, display_name) VALUES (${crypto.randomUUID()}, '', 'Owner') RETURNING id
    ), event AS (
      INSERT INTO events (type, recipients, data, fanned_out_at) VALUES ('task.created', '{}', '{}', now()) RETURNING id
    ), host AS (
      INSERT INTO webhook_hosts (host, answered_at) VALUES ('example.com:443', 'infinity') ON CONFLICT DO NOTHING
    ), endpoints AS (
      INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret)
      SELECT owner.id, 'https://example.com/', 'example.com:443', '{task.created}', '' FROM owner, generate_series(1, ${count}::int) RETURNING id
    )
    INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, attempts_left, due_at, waiting, created_at)
    SELECT endpoints.id, event.id, 'task.created', 3, ${later(dueInSeconds).toISOString()}::timestamptz,
           ${dueInSeconds > 0}, now() FROM endpoints, event
    RETURNING endpoint_id AS "endpointId"`);
  return rows.map(({ endpointId }) => endpointId);
}

const allFree: FreeLanes = { listed: {}, others: 4, anyFull: false };

const claimAll = { limit: 100, lanes: allFree, afterEndpoint: NIL_UUID, leaseSeconds: 15 };

async function claim({ lanes = allFree, at = now } = {}): Promise<string[]> {
  await promoteDueRetries(database, at);
  const claimed = await takeDue(database, { limit: 10, lanes, afterEndpoint: NIL_UUID, now: at, leaseSeconds: 15 });
  return claimed.map(({ endpointId }) => endpointId).sort();
}

/** How often the index of the lanes was searched since the database was created. */
async function laneSearches(): Promise<number> {
  await database.query(sql`SELECT pg_stat_force_next_flush()`);
  const [row] = await database.query<{ searches: number }>(sql`
    SELECT idx_scan AS searches FROM pg_stat_user_indexes WHERE indexrelname = 'webhook_deliveries_lane_idx'`);
  return row?.searches ?? Number.NaN;
}

test("a claim searches only endpoints with a due delivery, however many others wait for a retry", async () => {
  const due = await createEndpoints(2, 0);
  await createEndpoints(500, 3_600);
  const before = await laneSearches();
  expect(await claim()).toEqual(due.sort());
  expect((await laneSearches()) - before).toBeLessThan(10);
});

test("while unproven endpoints may get nothing, a claim searches only the proven ones", async () => {
  const [proven = ""] = await createEndpoints(500, 0);
  const before = await laneSearches();
  expect(await claim({ lanes: { listed: { [proven]: 1 }, others: 0, anyFull: true } })).toEqual([proven]);
  expect((await laneSearches()) - before).toBeLessThan(10);
});

test("a retry is claimed when its time has come, and not before", async () => {
  const endpoints = await createEndpoints(3, 30);
  expect(await claim({ at: later(29) })).toEqual([]);
  expect(await claim({ at: later(30) })).toEqual(endpoints.sort());
});

test("stopping an endpoint's deliveries leaves none pending, neither due nor waiting for a retry", async () => {
  const [due = ""] = await createEndpoints(1, 0);
  const [waiting = "", other = ""] = await createEndpoints(2, 30);
  await stopDeliveries(database, [due, waiting]);
  const pending = await database.prisma.webhookDelivery.findMany({ where: { status: "pending" } });
  expect(pending.map(({ endpointId }) => endpointId)).toEqual([other]);
  expect(await claim({ at: later(30) })).toEqual([other]);
});

test("workers that count failures of the same endpoints at once do not deadlock", async () => {
  const workers = openDatabase(testDatabase.url, { poolSize: 2 });
  const endpoints = await createEndpoints(40, 0);
  const attempt = { attemptedAt: now.toISOString(), statusCode: 500, durationMs: 1, error: null };
  const outcomes = (await takeDue(database, { ...claimAll, now })).map((delivery) => ({
    ...{ delivery, attempt, status: "pending" as const, attemptsLeft: 2, switchOff: false },
    dueAt: later(30).toISOString(),
  }));
  let runs = 0;
  const write = (batch: typeof outcomes) =>
    workers.transaction((tx) => {
      runs++;
      return complete(tx, batch);
    });
  for (let round = 0; round < 25; round++) await Promise.all([write(outcomes), write(outcomes.toReversed())]);
  await workers.close();
  expect(runs).toBe(50);
  const counted = await database.prisma.webhookEndpoint.findMany({ where: { id: { in: endpoints } } });
  expect(counted.map(({ failuresInRow }) => failuresInRow)).toEqual(endpoints.map(() => 50));
});

test("operators see how many deliveries are pending, and the due time of the oldest due one, whether or not a worker runs", async () => {
  expect(await readBacklog(database, now)).toEqual({ pending: 0, oldestDueAt: null });
  await createEndpoints(2, 30);
  expect(await readBacklog(database, now)).toEqual({ pending: 2, oldestDueAt: null });
  expect(await readBacklog(database, later(40))).toEqual({ pending: 2, oldestDueAt: "2026-11-20T12:00:30.000000Z" });
  for (const dueInSeconds of [-10, -20, 0]) await createEndpoints(2, dueInSeconds);
  const due = await readBacklog(database, later(40));
  expect(due).toEqual({ pending: 8, oldestDueAt: "2026-11-20T11:59:40.000000Z" });
  // While no worker runs, an event that happens has no deliveries.
  await database.query(sql`
    INSERT INTO events (type, recipients, data, created_at) VALUES ('task.created', '{}', '{}', ${later(-60).toISOString()}::timestamptz)`);
  const unwritten = await readBacklog(database, later(40));
  expect(unwritten).toEqual({ pending: 8, oldestDueAt: "2026-11-20T11:59:00.000000Z" });
});
