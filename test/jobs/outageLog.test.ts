import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LocalPostgres } from "../../server/local/postgres/process.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { createPerson } from "../factories/people.ts";
import { openStream } from "../setup/eventStream.ts";
import { useProcesses } from "../setup/serviceProcess.ts";

const { start, dataDirectory } = useProcesses();
let directory: string;
let postgres: LocalPostgres;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-outage-"));
  postgres = await startPostgres({ directory, durable: false });
});
afterAll(async () => {
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
});

test("outages of the database, with jobs under way, are one line a minute in the log, without stacks", async () => {
  const running = await start({ DATA_DIR: await dataDirectory(), DATABASE_URL: postgres.url });
  await running.ready();
  const startedAtMs = performance.now();
  for (let outage = 0; outage < 4; outage++) {
    const database = openDatabase(postgres.url, { poolSize: 2 });
    const ada = await createPerson({ url: running.url, services: { database } });
    await openStream(running.url, "/events/stream?after=latest", ada.key); // Who waits is looked up again and again.
    const jobs = () => database.query(sql`SELECT FROM graphile_worker.jobs WHERE task_identifier = 'pruneFailedJobs'`);
    // Some are under way when the database stops, and cannot be completed.
    await database.query(sql`SELECT graphile_worker.add_job('pruneFailedJobs', '{}') FROM generate_series(1, 300)`);
    await expect.poll(async () => (await jobs()).length).toBeLessThan(200);
    await database.close();
    await postgres.stop();
    await expect.poll(async () => (await fetch(`${running.url}/readyz`)).status).toBe(503);
    postgres = await startPostgres({ directory, durable: false, previousUrl: postgres.url });
    await expect.poll(async () => (await fetch(`${running.url}/readyz`)).status).toBe(200);
  }
  const minutes = (performance.now() - startedAtMs) / 60_000;
  const [, ...lines] = running.stdout().trimEnd().split("\n"); // the first says that it is ready
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length, lines.join("\n")).toBeLessThanOrEqual(1 + minutes);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ msg: expect.stringMatching("does not answer") });
  expect(running.stderr()).toBe("");
});
