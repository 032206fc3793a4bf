import { Agent, get } from "node:http";
import pg from "pg";
import type { TaskSearch } from "../../../server/market/search/filters.ts";
import { searchTasks } from "../../../server/market/search/search.ts";
import { type TaskStatus, taskStatuses } from "../../../server/schemas/task.ts";
import { type Connection, connectionOver, openPool, sql } from "../../../server/store/connection.ts";
import type { Bench, BenchEnvironment, Measurement } from "../setup/bench.ts";
import { createPlainIndexes, searchPlainly } from "../setup/plainSearch.ts";
import { startRebid } from "../setup/rebid.ts";

const TASKS = 1_000_000;
const WARM_UP = 20;
const ROUNDS = 500;
/** A filter may cost at most five times as much as the unfiltered first page. */
const AT_MOST = 5;

/**
 * Searches for values that are frequent, in between, rare, only among the oldest rows or absent: by each filter alone,
 * then by all.
 */
const searches: Record<string, string> = {
  "status, a frequent one": "status=accepted",
  "status, a rare one": "status=expired",
  "status, all of them": `status=${taskStatuses.join(",")}`,
  "tag of every fourth task": "tag=translation",
  "tag of every 1,000th task": "tag=topic77",
  "tag of 20 tasks": "tag=rare",
  "tag of 50,000 tasks, all among the oldest": "tag=fax",
  "tag of no task": "tag=nowhere",
  "query, frequent": "query=translate",
  "query, in between": "query=vellum",
  "query of two characters, frequent": "query=at",
  "query of two characters that no title has": "query=%25%7B",
  "query of two characters, in Chinese": "query=%E7%BF%BB%E8%AF%91",
  "query that one title has": "query=page%20000f4240",
  "query of 50,000 tasks, all among the oldest": "query=by%20fax",
  "query that no title has, of frequent parts": "query=translate%20record%20review",
  "minBudget, frequent": "minBudget=200000",
  "minBudget, rare": "minBudget=9999990",
  "maxBudget, rare": "maxBudget=110",
  "budget range of some 100 tasks": "minBudget=500000&maxBudget=500100",
  "budget range of 50,000 tasks, all among the oldest": "minBudget=2000000&maxBudget=3000000",
  "cursor, at the oldest rows": "cursor=1995-01-02T00:00:00Z",
  "all filters, each frequent, together rare":
    "status=open,accepted&tag=translation&query=page&minBudget=500000&maxBudget=502000",
  "all filters, each rare, together none":
    "status=expired&tag=rare&query=zebra&minBudget=9999990&maxBudget=10000000&cursor=2020-01-01T00:00:00Z",
};

/** Adversarial, so measured without a limit: long lists of frequent parts have to be compared to find nothing. */
const unlimited = new Set(["query that no title has, of frequent parts"]);

/**
 * `GET /tasks` over 1,000,000 tasks: the p99 of each filter, and of rare combinations, against the unfiltered first page.
 * Each round asks for everything once, with a first page in between, so that whatever else the machine does
 * affects all alike.
 */
const bench: Bench = async (environment) => {
  await seed(environment);
  await printPlans(environment);
  const port = await startRebid(environment);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  environment.onEnd(async () => agent.destroy());
  const firstPages: number[] = [];
  const rounds = Object.entries(searches).map(([what, parameters]) => ({
    what,
    parameters,
    durations: [] as number[],
  }));
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const { parameters, durations } of rounds) {
      const ours = await timeOf(agent, port, `/tasks?${parameters}`);
      const firstPage = await timeOf(agent, port, "/tasks");
      if (round < WARM_UP) continue;
      durations.push(ours);
      firstPages.push(firstPage);
    }
  }
  await compareWithPlain(environment);
  const baseline = p99Of(firstPages);
  return rounds.map(({ what, durations }): Measurement => {
    const limit = unlimited.has(what) ? {} : { atMost: AT_MOST };
    return { what, unit: "ms p99", ours: p99Of(durations), baseline, against: "the first page", ...limit };
  });
};
export default bench;

const p99Of = (durations: readonly number[]) =>
  durations.toSorted((a, b) => a - b)[Math.floor(durations.length * 0.99)] ?? Number.NaN;

/** Milliseconds until the whole response has arrived. */
function timeOf(agent: Agent, port: number, path: string): Promise<number> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    get({ agent, port, path, host: "127.0.0.1" }, (response) => {
      response.resume();
      response.once("end", () =>
        response.statusCode === 200
          ? resolve(performance.now() - start)
          : reject(new Error(`${path} answered with ${response.statusCode}`)),
      );
    }).once("error", reject);
  });
}

/** Thirty years of tasks: the newest is from today, the 50,000 oldest are of another kind. */
async function seed({ databaseUrl, log }: BenchEnvironment): Promise<void> {
  log(`writing ${TASKS.toLocaleString("en")} tasks`);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const indexes = (await client.query("SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'tasks_search%'")).rows;
  // An index is built much faster than it grows; rows without bids and money are enough, so no trigger has to run.
  await client.query(
    "DROP INDEX tasks_search_idx, tasks_search_sample_idx; SET session_replication_role = replica; SET maintenance_work_mem = '512MB'",
  );
  await client.query(
    "INSERT INTO users (email, password_hash, display_name) SELECT 'person' || n, '', 'Person' FROM generate_series(1, 1000) n",
  );
  await client.query(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status, awarded_bid_id, awarded_bidder_id, created_at)
     SELECT people[1 + n % 1000],
            (ARRAY['Translate', 'Review', 'Record', 'Draw', 'Summarise', '翻译', 'Перевести', 'Käännä'])[1 + n % 8]
            || (ARRAY[' page ', ' article ', ' song ', ' contract ', ' recipe '])[1 + n % 5] || lpad(to_hex(n), 8, '0')
            || CASE WHEN n % 500 = 0 THEN ' on vellum' WHEN n > ${TASKS} - 50000 THEN ' by fax' ELSE '' END,
            'From English to Finnish, in plain words.',
            CASE WHEN n > ${TASKS} - 50000 THEN 2000000 + n % 1000000 WHEN n % 50000 = 7 THEN 100 + n % 9
                 WHEN n % 50000 = 8 THEN 9999991 ELSE 200 + (hashint4(n) & 1048575) END,
            ARRAY[(ARRAY['translation', 'code', 'art', 'audio'])[1 + n % 4], 'topic' || n % 1000]
            || CASE WHEN n % 50000 = 9 THEN ARRAY['rare'] WHEN n > ${TASKS} - 50000 THEN ARRAY['fax'] ELSE '{}' END,
            status, CASE WHEN status NOT IN ('open', 'cancelled') THEN gen_random_uuid() END,
            CASE WHEN status NOT IN ('open', 'cancelled') THEN people[1 + (n + 1) % 1000] END,
            clock_timestamp() - n * interval '950 seconds'
     FROM (SELECT array_agg(id) AS people FROM users) AS users, generate_series(1, ${TASKS}) AS n,
          LATERAL (SELECT CASE WHEN n % 10 < 3 THEN 'open' WHEN n % 40000 = 5 THEN 'expired' WHEN n % 100 = 5 THEN 'cancelled'
                               ELSE 'accepted' END AS status) AS s`,
  );
  log("building the search indexes");
  for (const { indexdef } of indexes) await client.query(indexdef);
  await client.query("VACUUM ANALYZE tasks");
  await client.end();
}

/** Logs how Postgres runs each search: each statement's plan with its times, from EXPLAIN ANALYZE. */
async function printPlans({ databaseUrl, log }: BenchEnvironment): Promise<void> {
  const pool = openPool(databaseUrl, { poolSize: 1 });
  const connection = connectionOver(pool);
  const explaining: Connection = {
    async query(statement, options) {
      const plan = await connection.query<{ "QUERY PLAN": string }>(
        sql`EXPLAIN (ANALYZE, COSTS off, BUFFERS off) ${statement}`,
      );
      const lines = plan.map((row) => row["QUERY PLAN"]).filter((line) => /->|^\w| Time:/.test(line));
      for (const line of lines) log(`    ${line.slice(0, 140)}`);
      return connection.query(statement, options);
    },
  };
  for (const [what, parameters] of Object.entries({ "the first page": "", ...searches })) {
    log(`${what}: ${parameters}`);
    await searchTasks(explaining, searchOf(new URLSearchParams(parameters)));
  }
  await pool.end();
}

/** Logs the median time of each search beside that of the plainest one, without HTTP: nine times each. Its indexes come after ours were measured, because the planner would use them there, too. */
async function compareWithPlain({ databaseUrl, log }: BenchEnvironment): Promise<void> {
  const pool = openPool(databaseUrl, { poolSize: 1 });
  const connection = connectionOver(pool);
  const timeOfSearch = async (search: TaskSearch, run: typeof searchPlainly) => {
    const start = performance.now();
    await run(connection, search);
    return performance.now() - start;
  };
  const all = Object.entries(searches).map(([what, parameters]) => {
    return { what, search: searchOf(new URLSearchParams(parameters)), ours: [] as number[], plain: [] as number[] };
  });
  for (const { search, ours } of all)
    for (let count = 0; count < 9; count++) ours.push(await timeOfSearch(search, searchTasks));
  await createPlainIndexes(databaseUrl);
  for (const { what, search, ours, plain } of all) {
    for (let count = 0; count < 9; count++) plain.push(await timeOfSearch(search, searchPlainly));
    log(`${what}: ${medianOf(ours).toFixed(1)} ms, in the plainest way ${medianOf(plain).toFixed(1)} ms`);
  }
  await pool.end();
}

const medianOf = (durations: readonly number[]) =>
  durations.toSorted((a, b) => a - b)[Math.floor(durations.length / 2)] ?? Number.NaN;

function searchOf(parameters: URLSearchParams): TaskSearch {
  const integer = (name: string) => (parameters.has(name) ? Number(parameters.get(name)) : undefined);
  const asked = (parameters.get("status") ?? "open").split(",");
  return {
    statuses: taskStatuses.filter((status: TaskStatus) => asked.includes(status)),
    tag: parameters.get("tag") ?? undefined,
    query: parameters.get("query") ?? undefined,
    minBudgetCents: integer("minBudget"),
    maxBudgetCents: integer("maxBudget"),
    cursor: parameters.get("cursor") ?? undefined,
    limit: 50,
  };
}
