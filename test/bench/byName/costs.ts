import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import pg from "pg";
import { generateApiKey } from "../../../server/auth/apiKeys.ts";
import { type Bench, type BenchEnvironment, medianOf } from "../setup/bench.ts";
import { connectionsTime, timeOfProcess } from "../setup/cpuTime.ts";
import { type Load, startLifecycleGenerator, startLoadGenerator } from "../setup/processes.ts";
import { startRebidProcess } from "../setup/rebid.ts";
import { startStore } from "../setup/requests/store.ts";
import { seedHistory } from "../setup/seed/history.ts";
import { seedMarket } from "../setup/seed/market.ts";

/** What the guide "Growing" takes its figures from. */
const FILE = new URL("../../../docs/site/growing/costs.json", import.meta.url);

/** `COSTS_TASKS=10000 COSTS_SECONDS=0.5 npm run bench costs` takes a minute. */
const TASKS = Number(process.env.COSTS_TASKS ?? 100_000);
const SECONDS = Number(process.env.COSTS_SECONDS ?? 2);
const PEOPLE = 1_000;
const CONNECTIONS = 8;
const ROUNDS = 5;
const EVENTS = 50_000;
const LIFECYCLES = 300;

/** CPU time of a request, in milliseconds: its own process, and all connections to the database. */
interface Cost {
  apiMs: number;
  databaseMs: number;
}

/**
 * What one request of each kind, and one whole lifecycle, costs: CPU time of the API process and of the database, of the
 * worker, and bytes in each table. Writes them into the file that the guide "Growing" is made from.
 */
const bench: Bench = async (environment) => {
  const store = await startStore(environment);
  const callers = Array.from({ length: CONNECTIONS }, generateApiKey);
  const size = { tasks: TASKS, people: PEOPLE, callers, savers: [], savings: 0 };
  await seedMarket(environment.databaseUrl, size);
  await seedHistory(environment.databaseUrl, size, { ledgerEntries: TASKS * 5, events: TASKS });
  const pool = new pg.Pool({ connectionString: environment.databaseUrl, max: 1 });
  environment.onEnd(() => pool.end());
  const { port, pid } = await startRebidProcess(environment, { environment: store.variables });
  const measure = meter(pid, pool);

  const operations = await costsOfOperations(environment, callers, { port, measure });
  const numberingMs = await costOfNumbering(pool);
  const lifecycle = await costOfLifecycle(environment, store);
  const { rows } = await pool.query<{ server_version: string }>("SHOW server_version");
  const measuredOn = {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    node: process.versions.node,
    postgres: rows[0]?.server_version ?? "unknown",
    tasks: TASKS,
  };
  const known: object = JSON.parse(await readFile(FILE, "utf8").catch(() => "{}"));
  const costs = { ...known, measuredOn, operations, lifecycle, numberingMs };
  await writeFile(FILE, `${JSON.stringify(costs, null, 2)}\n`);
  return [];
};
export default bench;

type Meter = ReturnType<typeof meter>;

/** Returns a function that runs `work`, which says how many requests it has sent, and returns the cost of one. */
function meter(pid: number, pool: pg.Pool) {
  return async (work: () => Promise<number>): Promise<Cost> => {
    const before = await Promise.all([timeOfProcess(pid), connectionsTime(pool)]);
    const count = await work();
    const after = await Promise.all([timeOfProcess(pid), connectionsTime(pool)]);
    return { apiMs: (after[0] - before[0]) / count, databaseMs: (after[1] - before[1]) / count };
  };
}

const rounded = (figure: number) => Number(figure.toPrecision(3));

const medianCost = (costs: readonly Cost[]): Cost => ({
  apiMs: rounded(medianOf(costs.map(({ apiMs }) => apiMs))),
  databaseMs: rounded(medianOf(costs.map(({ databaseMs }) => databaseMs))),
});

async function costsOfOperations(
  environment: BenchEnvironment,
  callers: readonly string[],
  { port, measure }: { port: number; measure: Meter },
): Promise<Record<string, Cost>> {
  const generator = await startLoadGenerator(environment);
  const costs: Record<string, Cost> = {};
  for (const [operation, load] of Object.entries(loads(callers))) {
    const rounds: Cost[] = [];
    let first = 0;
    // The first round only warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      const cost = await measure(async () => {
        const { sent } = await generator.run({ ...load, port, first, seconds: SECONDS });
        first += sent;
        return sent;
      });
      if (round > 0) rounds.push(cost);
    }
    costs[operation] = medianCost(rounds);
    environment.log(`${operation}: ${JSON.stringify(costs[operation])}`);
  }
  return costs;
}

/** With distinct pages and tasks, so that no answer is shared, except that of the front page. */
function loads(callers: readonly string[]): Record<string, Omit<Load, "port" | "seconds" | "first">> {
  const headers = callers.map((key) => ({ Authorization: `Bearer ${key}`, "Content-Type": "application/json" }));
  const openTasks = Math.floor(0.7 * TASKS);
  const read = (path: string, modulo = openTasks) => ({ method: "GET", path, headers, modulo });
  const write = (path: string, input: object) => ({
    ...{ method: "POST", path, headers, body: JSON.stringify(input), modulo: openTasks },
  });
  return {
    "GET /tasks, the front page": { ...read("/tasks"), headers: headers.map(() => ({})) },
    "GET /tasks, another page": read("/tasks?cursor=__page__", Math.floor(openTasks / 50)),
    "GET /tasks/[id]": read("/tasks/__task__"),
    "GET /me/tasks": read("/me/tasks"),
    "GET /wallet": read("/wallet"),
    "GET /wallet/ledger": read("/wallet/ledger"),
    "GET /events": read("/events"),
    "POST /tasks": write("/tasks", {
      ...{ title: "Translate a page", description: "From English to Finnish, in plain words." },
      ...{ maxBudgetCents: 100, tags: ["translation", "finnish"] },
    }),
    "POST /tasks/[id]/bids": write("/tasks/__task__/bids", { priceCents: 90, etaHours: 24 }),
  };
}

/** CPU time of numbering one event in the log, which one connection at a time does for all processes. */
async function costOfNumbering(pool: pg.Pool): Promise<number> {
  const number = "SELECT last_position FROM advance_event_log(1000, true)";
  for (let left = 1; left > 0; ) {
    await pool.query(number);
    left = Number((await pool.query("SELECT count(*) FROM event_log_queue")).rows[0]?.count);
  }
  await pool.query(
    `WITH added AS (INSERT INTO events (type, task_id, recipients, data, fanned_out_at)
                    SELECT type, task_id, recipients, data, now() FROM events WHERE recipients IS NOT NULL LIMIT ${EVENTS} RETURNING id)
     INSERT INTO event_log_queue (event_id) SELECT id FROM added`,
  );
  const { rows } = await pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const pid = rows[0]?.pid ?? 0;
  const before = await timeOfProcess(pid);
  for (let numbered = 0; numbered < EVENTS; numbered += 1000) await pool.query(number);
  return rounded(((await timeOfProcess(pid)) - before) / EVENTS);
}

/** On a database of its own, without history: the worker deletes what is over, and new rows would take its place. */
async function costOfLifecycle(environment: BenchEnvironment, store: Awaited<ReturnType<typeof startStore>>) {
  const databaseUrl = await environment.databases.migrated("costs_lifecycle");
  const keys = Array.from({ length: CONNECTIONS }, generateApiKey);
  await seedMarket(databaseUrl, { tasks: 1_000, people: 100, callers: keys, savers: [], savings: 0 });
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  environment.onEnd(() => pool.end());
  const stage = { ...environment, databaseUrl };
  const { port, pid } = await startRebidProcess(stage, { environment: store.variables });
  const worker = await startRebidProcess(stage, { environment: { ...store.variables, ROLE: "worker" } });
  const measure = meter(pid, pool);
  const generator = await startLifecycleGenerator(environment);
  const run = async () => (await generator.run({ port, storePort: store.port, keys, seconds: SECONDS })).lifecycles;
  await run();
  const before = await tableSizes(pool);
  const workerBefore = await timeOfProcess(worker.pid);
  let lifecycles = 0;
  const costs: Cost[] = [];
  // A page of a table is 8 kB, so the bytes of a few lifecycles would say little.
  while (lifecycles < LIFECYCLES) {
    costs.push(
      await measure(async () => {
        const done = await run();
        lifecycles += done;
        return done;
      }),
    );
  }
  const workerMs = rounded(((await timeOfProcess(worker.pid)) - workerBefore) / lifecycles);
  const after = await tableSizes(pool);
  const tables = [...after]
    .map(([table, { bytes, rows }]) => ({
      table,
      bytes: Math.round((bytes - (before.get(table)?.bytes ?? 0)) / lifecycles),
      rows: Math.round(((rows - (before.get(table)?.rows ?? 0)) / lifecycles) * 10) / 10,
    }))
    .filter(({ bytes, rows }) => bytes > 0 || rows > 0)
    .sort((a, b) => b.bytes - a.bytes);
  return { lifecycles, ...medianCost(costs), workerMs, tables };
}

/** With indexes and long values. */
async function tableSizes(pool: pg.Pool): Promise<Map<string, { bytes: number; rows: number }>> {
  await pool.query("VACUUM");
  const { rows } = await pool.query<{ name: string; bytes: string }>(`
    SELECT relid::regclass::text AS name, pg_total_relation_size(relid) AS bytes FROM pg_stat_user_tables`);
  const sizes = new Map<string, { bytes: number; rows: number }>();
  for (const { name, bytes } of rows) {
    const counted = await pool.query<{ count: string }>(`SELECT count(*) FROM ${name}`);
    sizes.set(name, { bytes: Number(bytes), rows: Number(counted.rows[0]?.count) });
  }
  return sizes;
}
