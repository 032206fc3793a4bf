import { migrateDatabase } from "../../../server/store/schema.ts";
import { type Cluster, Clusters } from "../../failover/cluster.ts";
import { type Bench, type BenchEnvironment, compare, medianOf, takeTurns } from "../setup/bench.ts";
import { timeOfProcess } from "../setup/cpuTime.ts";
import { type Load, startLoadGenerator } from "../setup/processes.ts";
import { startRebidProcess } from "../setup/rebid.ts";
import { seedMarket } from "../setup/seed/market.ts";

const TASKS = 20_000;
const CONNECTIONS = 8;
const ROUNDS = 5;
const SECONDS = 3;
const OPEN_PAGES = Math.floor((TASKS * 0.7) / 50);

/** What visitors ask for, half pages of the feed and half searches, so that no answer is shared. */
const loads: Omit<Load, "port" | "seconds" | "first">[] = [
  "/tasks?cursor=__page__",
  "/tasks?query=page&cursor=__page__",
].map((path) => ({
  method: "GET",
  path,
  headers: Array.from({ length: CONNECTIONS }, () => ({})),
  modulo: OPEN_PAGES,
}));

/**
 * Visitors' reads a second that a primary allows with 0, 1 and 2 standbys, by its CPU time: all of its processes, those
 * that send the log to the standbys too. Needs Debian's PostgreSQL, because the embedded one has no tools for standbys. How
 * many reads a second all of it does on one machine says nothing, because the standbys use the same cores.
 */
const bench: Bench = async (environment) => {
  const [primary, ...standbys] = await startClusters(environment);
  const clusters = [primary, ...standbys];
  const generator = await startLoadGenerator(environment);

  /** The CPU time of each server for one read, in milliseconds, round by round. */
  const spent: number[][][] = [[], [], []];
  const side = async (count: number) => {
    const replicas = standbys.slice(0, count).map(({ url }) => url);
    const { port } = await startRebidProcess(
      { ...environment, databaseUrl: primary.url },
      { environment: count === 0 ? {} : { DATABASE_REPLICA_URLS: replicas.join(",") } },
    );
    let first = 0;
    const run = async (): Promise<number> => {
      const before = await Promise.all(clusters.map(timesOf));
      let sent = 0;
      for (const load of loads) {
        sent += (await generator.run({ ...load, port, first, seconds: SECONDS / loads.length })).sent;
      }
      first += sent;
      const after = await Promise.all(clusters.map(timesOf));
      const perRead = after.map((times, index) => spentSince(before[index], times) / sent);
      spent[count]?.push(perRead);
      return 1_000 / (perRead[0] ?? Number.NaN);
    };
    await run(); // warms up
    spent[count] = [];
    return run;
  };
  const figures = await takeTurns(ROUNDS, { none: await side(0), one: await side(1), two: await side(2) });

  spent.forEach((rounds, count) => {
    const [onPrimary, ...onStandbys] = clusters.map((_, index) => medianOf(rounds.map((round) => round[index] ?? 0)));
    const standbyTimes = onStandbys.map((ms) => ms.toFixed(3)).join(" and ");
    environment.log(
      `${count} standbys: ${onPrimary?.toFixed(4)} ms of the primary a read, ${standbyTimes} of the standbys`,
    );
  });
  const busiest = (count: number) => (spent[count] ?? []).map(([, ...ofStandbys]) => Math.max(...ofStandbys));
  const reads = { unit: "reads a second of the primary's processor", against: "no standby" };
  return [
    { what: "Visitors' reads, 1 standby", ...reads, ...compare(figures.one, figures.none), atLeast: 10 },
    { what: "Visitors' reads, 2 standbys", ...reads, ...compare(figures.two, figures.none), atLeast: 10 },
    {
      ...{ what: "The busier of 2 standbys", unit: "ms of its processor a read", against: "1 standby" },
      ...{ ...compare(busiest(2), busiest(1)), atMost: 0.7 },
    },
  ];
};
export default bench;

/** A primary with tasks, and its two standbys. */
async function startClusters({ onEnd, log }: BenchEnvironment): Promise<[Cluster, Cluster, Cluster]> {
  const clusters = await Clusters.open();
  onEnd(() => clusters.close());
  const primary = await clusters.create("primary");
  await migrateDatabase(primary.url, primary.url);
  log(`writing ${TASKS.toLocaleString("en")} tasks`);
  await seedMarket(primary.url, { tasks: TASKS, people: 100, callers: [], savers: [], savings: 0 });
  return [
    primary,
    await clusters.createStandby("standby1", primary),
    await clusters.createStandby("standby2", primary),
  ];
}

/** The CPU time, in milliseconds, of each process of a server. */
async function timesOf(server: Cluster): Promise<Map<number, number>> {
  const rows = await server.query("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
  const pids = rows.map(({ pid }) => Number(pid));
  return new Map(await Promise.all(pids.map(async (pid) => [pid, await timeOfProcess(pid)] as const)));
}

/** Connections that were idle and have ended in the meantime do not count. */
function spentSince(before: Map<number, number> = new Map(), after: Map<number, number>): number {
  return [...after].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0);
}
