import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Connection, queryOne, sql } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { StandbyReads } from "../../server/store/publicReads.ts";
import { type Cluster, Clusters } from "./cluster.ts";

let clusters: Clusters;
let primary: Cluster;
let standbys: Cluster[];
let reads: StandbyReads;
const stops: (() => Promise<void>)[] = [];

function open(url: string): Database {
  const database = openDatabase(url, { poolSize: 4 });
  stops.push(database.close);
  return database;
}

beforeAll(async () => {
  clusters = await Clusters.open();
  stops.push(() => clusters.close());
  primary = await clusters.create("primary");
  standbys = [await clusters.createStandby("standby", primary)];
  const connections = standbys.map(({ url }) => open(url));
  reads = new StandbyReads(open(primary.url), connections, pino({ level: "silent" }));
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

const isOnStandby = async (): Promise<boolean> => {
  const work = (connection: Connection) =>
    queryOne<{ answer: boolean }>(connection, sql`SELECT pg_is_in_recovery() AS answer`);
  return (await reads.read({ page: "page", work })).answer;
};
const comesTo = (expected: boolean, looks = 1) =>
  expect
    .poll(async () => {
      for (let look = 0; look < looks; look++) await reads.look();
      return isOnStandby();
    })
    .toBe(expected);

test("a standby of a quiet primary is read, also behind a segment that was ended early", async () => {
  await comesTo(true);
  await primary.query("SELECT pg_switch_wal()");
  await comesTo(true, 3);
});

test("a standby whose replay pauses is left, and comes back when it goes on", async () => {
  for (const standby of standbys) await standby.query("SELECT pg_wal_replay_pause()");
  await primary.query("CREATE TABLE written ()");
  await comesTo(false);
  for (const standby of standbys) await standby.query("SELECT pg_wal_replay_resume()");
  await comesTo(true);
});

test("a standby that stops is left at once", async () => {
  await comesTo(true);
  for (const standby of standbys) await standby.stop("immediate");
  expect(await isOnStandby()).toBe(false);
});
