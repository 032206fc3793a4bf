import { afterAll, beforeAll, expect, test } from "vitest";
import type { Services } from "../../server/services.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask, taskInput } from "../factories/tasks.ts";
import { openStream } from "../setup/eventStream.ts";
import { Balancer } from "./balancer.ts";
import { type Cluster, Clusters } from "./cluster.ts";
import { startService } from "./service.ts";

// Each test makes another cluster the primary, in one of the ways in which that happens, and the next one goes on there. One
// service runs through all of them.
let clusters: Clusters;
let primary: Cluster;
let service: { url: string; services: Services };
let ada: TestPerson;
let beginning: string;
const balancer = new Balancer();
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  clusters = await Clusters.open();
  stops.push(() => clusters.close());
  primary = await clusters.create("first");
  await migrateDatabase(primary.url, primary.url);
  const databaseUrl = await balancer.open();
  stops.push(() => balancer.close());
  balancer.switchTo(primary.port);
  service = await startService(databaseUrl, { stops });
  ada = await createPerson(service, { cents: 1_000_000 });
  beginning = await latest();
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

const latest = async (): Promise<string> => (await ada.get("/events?after=latest")).body.nextCursor;
const post = async (): Promise<string> => (await postTask(ada, { maxBudgetCents: 1 })).id;

/** Waits until there is something to say, however long that takes. */
async function waitAfter(cursor: string) {
  for (let after = cursor; ; ) {
    const { status, body } = await ada.get(`/events?after=${after}&wait=30`);
    if (status !== 200 || body.events.length > 0) return { status, body };
    after = body.nextCursor;
  }
}

interface Page {
  status: number;
  error: string | undefined;
  tasks: string[];
}

async function read(cursor: string): Promise<Page> {
  const tasks: string[] = [];
  for (let after = cursor; ; ) {
    const { status, body } = await ada.get(`/events?after=${after}&limit=100`);
    if (status !== 200) return { status, error: body.error, tasks };
    for (const { data } of body.events) tasks.push(data.task.id);
    if (body.events.length < 100) return { status, error: undefined, tasks };
    after = body.nextCursor;
  }
}

const lost = { status: 410, error: "cursor_expired", tasks: [] };

/** The service's database is this cluster from now on. */
async function failOverTo(cluster: Cluster): Promise<void> {
  balancer.switchTo(cluster.port);
  primary = cluster;
  await expect.poll(async () => (await ada.get("/wallet")).status).toBe(200);
}

/**
 * Posts tasks without a pause, until it is told to stop. Says which of them were acknowledged, and collects cursors with the
 * number of events from `before` to each.
 */
function load(before: string) {
  const acknowledged: string[] = [];
  const cursors = new Map<string, number>();
  let isOver = false;
  const write = async () => {
    while (!isOver) {
      const { status, body } = await ada
        .post("/tasks", taskInput({ maxBudgetCents: 1 }))
        .catch(() => ({ status: 0, body: null }));
      if (status === 201) acknowledged.push(body.task.id);
    }
  };
  const follow = async () => {
    for (let after = before, seen = 0; !isOver; ) {
      const { status, body } = await ada.get(`/events?after=${after}&wait=1`).catch(() => ({ status: 0, body: null }));
      expect([200, 0, 500, 503]).toContain(status);
      if (status !== 200) continue;
      after = body.nextCursor;
      seen += body.events.length;
      cursors.set(after, seen);
    }
  };
  const workers = [write(), write(), write(), follow()];
  return {
    acknowledged,
    cursors,
    async stop() {
      isOver = true;
      await Promise.all(workers);
    },
  };
}

test("a planned switch: cursors, waits and streams go on, and nothing is missing", async () => {
  const standby = await clusters.createStandby("second", primary);
  const before = await latest();
  const tasks = [await post()];
  const stream = await openStream(service.url, `/events/stream?after=${before}`, ada.key);
  const first = await stream.nextEvent();
  const held = waitAfter(first.id);
  await expect.poll(() => service.services.eventFollower.seatCount).toBe(2);
  const timeline = await primary.timeline();
  await primary.stop("fast");
  await standby.promote();
  await failOverTo(standby);
  tasks.push(await post());
  expect(await primary.timeline()).toBeGreaterThanOrEqual(timeline);
  expect((await held).body.events).toMatchObject([{ data: { task: { id: tasks[1] } } }]);
  expect((await stream.nextEvent()).event.data.task.id).toBe(tasks[1]);
  stream.close();
  expect((await read(before)).tasks).toEqual(tasks);
});

test("a crash with a synchronous standby: every cursor that anybody got goes on, and every acknowledged task is in the log once", async () => {
  const standby = await clusters.createStandby("third", primary);
  await primary.set("synchronous_standby_names", "*");
  await primary.until("SELECT count(*) = 1 AS done FROM pg_stat_replication WHERE sync_state = 'sync'");
  const before = await latest();
  const running = load(before);
  await expect.poll(() => Math.min(running.acknowledged.length, 3 * running.cursors.size)).toBeGreaterThan(30);
  balancer.switchTo(null);
  await primary.stop("immediate");
  await standby.promote();
  await standby.set("synchronous_standby_names", "");
  const acknowledged = running.acknowledged.length;
  await failOverTo(standby);
  await expect.poll(() => running.acknowledged.length).toBeGreaterThan(acknowledged + 10);
  await running.stop();
  const all = await read(before);
  expect(all.status).toBe(200);
  expect(new Set(all.tasks).size).toBe(all.tasks.length);
  expect(running.acknowledged.filter((id) => !all.tasks.includes(id))).toEqual([]);
  const [last] = [...running.cursors.keys()].slice(-1);
  expect((await read(last ?? "")).status).toBe(200);
  for (const [cursor, seen] of running.cursors) expect((await read(cursor)).tasks).toEqual(all.tasks.slice(seen));
});

test("a crash with an asynchronous standby that has not received the end: only cursors in it are 410", async () => {
  const standby = await clusters.createStandby("fourth", primary);
  const before = await latest();
  const tasks = [await post()];
  const kept = await latest();
  // The standby has all of it, and then hears no more.
  const [end] = await primary.query("SELECT pg_current_wal_flush_lsn()::text AS lsn");
  await standby.until(`SELECT pg_last_wal_replay_lsn() >= '${end?.lsn}'::pg_lsn AS done`);
  await standby.set("primary_conninfo", "");
  await standby.until("SELECT count(*) = 0 AS done FROM pg_stat_wal_receiver");
  const lostCursors: string[] = [];
  for (let task = 0; task < 3; task++) {
    await post();
    lostCursors.push(await latest());
  }
  const held = waitAfter(lostCursors.at(-1) ?? "");
  const stream = await openStream(service.url, `/events/stream?after=${lostCursors.at(-1)}`, ada.key);
  await stream.next();
  await primary.stop("immediate");
  await standby.promote();
  await failOverTo(standby);
  // The positions of the lost ones are used again, and more.
  for (let task = 0; task < 5; task++) {
    for (const cursor of lostCursors) expect(await read(cursor)).toEqual(lost);
    expect((await read(kept)).tasks).toEqual(tasks.slice(1));
    tasks.push(await post());
  }
  expect([(await held).status, (await held).body.error]).toEqual([410, "cursor_expired"]);
  await expect(stream.nextEvent()).rejects.toThrow("the stream has ended");
  expect((await read(before)).tasks).toEqual(tasks);
});

test("a restore to a point in time: cursors from before it go on, and those from after it are 410", async () => {
  await clusters.copy("fifth", primary);
  const before = await latest();
  const tasks = [await post()];
  const kept = await latest();
  await primary.query("SELECT pg_create_restore_point('here')");
  await post();
  const after = await latest();
  const [segment] = await primary.query("SELECT pg_walfile_name(pg_switch_wal()) AS name");
  await primary.until(`SELECT last_archived_wal >= '${segment?.name}' AS done FROM pg_stat_archiver`);
  await primary.stop("fast");
  await failOverTo(await clusters.restore("fifth", "first", "recovery_target_name = 'here'"));
  expect((await read(kept)).tasks).toEqual([]);
  tasks.push(await post());
  expect(await read(after)).toEqual(lost);
  expect((await read(kept)).tasks).toEqual(tasks.slice(1));
  expect((await read(before)).tasks).toEqual(tasks);
});

test("a dump that is restored in a new cluster: cursors from before the dump go on, and those from after it are 410", async () => {
  const before = await latest();
  const tasks = [await post()];
  const kept = await latest();
  const file = clusters.pathOf("dump");
  await clusters.run("pg_dump", "-d", primary.url, "-Fc", "-f", file);
  await post();
  const after = await latest();
  await primary.stop("fast");
  const restored = await clusters.create("sixth");
  await clusters.run("pg_restore", "-d", restored.url, "--exit-on-error", file);
  await failOverTo(restored);
  expect((await read(kept)).tasks).toEqual([]);
  tasks.push(await post());
  expect(await read(after)).toEqual(lost);
  expect((await read(before)).tasks).toEqual(tasks);
});

test("the very first cursor has survived all of that", async () => {
  const { status, tasks } = await read(beginning);
  expect([status, new Set(tasks).size]).toEqual([200, tasks.length]);
});
