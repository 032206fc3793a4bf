import { afterAll, beforeAll, expect, test } from "vitest";
import type { Services } from "../../server/services.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { type Answer, rest, rpc } from "../setup/client.ts";
import { type Cluster, Clusters } from "./cluster.ts";
import { startService } from "./service.ts";

// Which server answers is in the servers' own logs. The tests go on from each other.
let clusters: Clusters;
let servers: { primary: Cluster; "standby 1": Cluster; "standby 2": Cluster };
let service: { url: string; services: Services };
let ada: TestPerson;
let tasks: { id: string; createdAt: string }[];
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  clusters = await Clusters.open();
  stops.push(() => clusters.close());
  const primary = await clusters.create("primary");
  await migrateDatabase(primary.url, primary.url);
  servers = {
    primary,
    "standby 1": await clusters.createStandby("standby1", primary),
    "standby 2": await clusters.createStandby("standby2", primary),
  };
  for (const server of Object.values(servers)) await server.set("log_statement", "all");
  const replicaUrls = standbys().map(({ url }) => url);
  service = await startService(primary.url, { replicaUrls, stops });
  ada = await createPerson(service, { cents: 1_000_000 });
  tasks = [];
  for (let count = 0; count < 8; count++) tasks.push(await postTask(ada, { maxBudgetCents: 1 }));
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

const standbys = () => [servers["standby 1"], servers["standby 2"]];
const visit = (path: string) => rest(service.url, "GET", path);

/** Of searches, tasks and reputations; nothing else that a request asks looks like it. */
const publicRead = /FROM tasks|JOIN reputations|AS reached/;

/** Which servers a request asked for what is public. */
async function askedBy(send: () => Promise<unknown>): Promise<string[]> {
  const logs = await Promise.all(
    Object.entries(servers).map(async ([name, server]) => ({ name, server, bytes: await server.logBytes() })),
  );
  await send();
  const asked = await Promise.all(
    logs.map(async ({ name, server, bytes }) => (publicRead.test(await server.logBehind(bytes)) ? [name] : [])),
  );
  return asked.flat();
}

const paths = () => [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((limit) => `/tasks?limit=${limit}`),
  ...["/tasks?query=translate", "/tasks?tag=translation", "/tasks?status=open,cancelled&maxBudget=500"],
  `/users/${ada.id}/reputation`,
];

/** Asks for everything, and returns the servers that answered. */
async function askedByAll(get: (path: string) => Promise<Answer>): Promise<string[]> {
  const names = new Set<string>();
  for (const path of paths()) {
    const asked = await askedBy(async () => expect((await get(path)).status, path).toBe(200));
    expect(asked, path).toHaveLength(1);
    for (const name of asked) names.add(name);
  }
  return [...names].toSorted();
}

test("visitors' lists, searches and reputations come from all standbys", async () => {
  await expect.poll(() => askedByAll(visit)).toEqual(["standby 1", "standby 2"]);
  await expect
    .poll(() => askedBy(() => rpc(service.url).tasks.list.query({})))
    .toEqual([expect.stringMatching("standby")]);
  // A single task is read where it is changed, because its status is what a reader acts on.
  expect(await askedBy(() => visit(`/tasks/${tasks[0]?.id}`))).toEqual(["primary"]);
});

test("whoever is signed in is answered by the primary", async () => {
  expect(await askedByAll(ada.get)).toEqual(["primary"]);
  expect(await askedBy(() => rpc(service.url, ada.key).tasks.list.query({}))).toEqual(["primary"]);
});

test("a page whose cursor is newer than the replay comes from the primary", async () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  expect(await askedBy(() => visit(`/tasks?cursor=${inAnHour}`))).toEqual(["primary"]);
  const cursor = tasks[4]?.createdAt;
  await expect.poll(() => askedBy(() => visit(`/tasks?cursor=${cursor}`))).toEqual([expect.stringMatching("standby")]);
});

test("what a standby does not know yet comes from the primary, and is never missing", async () => {
  await expect
    .poll(async () => {
      await resumeReplay();
      await expect.poll(() => askedByAll(visit)).toEqual(["standby 1", "standby 2"]);
      await pauseReplay();
      const bea = await createPerson(service);
      const asked = await askedBy(async () => expect((await visit(`/users/${bea.id}/reputation`)).status).toBe(200));
      // Unless the standbys were found to be late in the meantime.
      return asked[0] === "primary" && asked[1]?.startsWith("standby");
    })
    .toBe(true);
});

test("while the standbys are late, the primary answers", async () => {
  await expect.poll(() => askedByAll(visit)).toEqual(["primary"]);
  await resumeReplay();
  await expect.poll(() => askedByAll(visit)).toEqual(["standby 1", "standby 2"]);
});

test("what visitors see never goes back, while tasks are posted and standbys fall behind and come back in turn", async () => {
  let isPosting = true;
  const posting = (async () => {
    while (isPosting) await postTask(ada, { maxBudgetCents: 1 });
  })();
  const newest = new Map<string, string>();
  /** Looks at eight pages, none of which may be older than before, and returns the servers that answered. */
  const look = async () => {
    const names = new Set<string>();
    for (let limit = 1; limit <= 8; limit++) {
      const path = `/tasks?limit=${limit}`;
      const asked = await askedBy(async () => {
        const { createdAt } = (await visit(path)).body.tasks[0];
        expect(createdAt >= (newest.get(path) ?? "")).toBe(true);
        newest.set(path, createdAt);
      });
      for (const name of asked) names.add(name);
    }
    return [...names].toSorted();
  };
  try {
    for (const late of ["standby 1", "standby 2"] as const) {
      await expect.poll(look).toEqual(["standby 1", "standby 2"]);
      await servers[late].query("SELECT pg_wal_replay_pause()");
      await expect.poll(look).not.toContain(late);
      await servers[late].query("SELECT pg_wal_replay_resume()");
    }
  } finally {
    isPosting = false;
    await posting;
  }
});

test("when standbys stop, the others and then the primary answer, and no request fails", async () => {
  await expect.poll(() => askedByAll(visit)).toEqual(["standby 1", "standby 2"]);
  await servers["standby 1"].stop("immediate");
  for (const path of paths()) expect((await visit(path)).status).toBe(200);
  await expect.poll(() => askedByAll(visit)).toEqual(["standby 2"]);
  await servers["standby 2"].stop("immediate");
  for (const path of paths()) expect((await visit(path)).status).toBe(200);
  await expect.poll(() => askedByAll(visit)).toEqual(["primary"]);
});

async function pauseReplay(): Promise<void> {
  for (const standby of standbys()) await standby.query("SELECT pg_wal_replay_pause()");
}
async function resumeReplay(): Promise<void> {
  for (const standby of standbys()) await standby.query("SELECT pg_wal_replay_resume()");
}
