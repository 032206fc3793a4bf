import pg from "pg";
import { generateApiKey } from "../../../server/auth/apiKeys.ts";
import { hashSecret } from "../../../server/auth/secretHash.ts";
import { type Bench, type BenchEnvironment, type Measurement, medianOf } from "../setup/bench.ts";
import { type Load, startLifecycleGenerator, startLoadGenerator } from "../setup/processes.ts";
import { startRebid } from "../setup/rebid.ts";
import { startStore } from "../setup/requests/store.ts";
import { seedHistory } from "../setup/seed/history.ts";
import { keyIdOf, userIdOf } from "../setup/seed/identities.ts";
import { type MarketSize, seedMarket } from "../setup/seed/market.ts";

/** `GROWTH_TASKS=1000,10000` takes fewer, and `GROWTH_SECONDS=0.2` shorter turns. */
const SIZES = (process.env.GROWTH_TASKS ?? "10000,100000,1000000").split(",").map(Number);
const ENTRIES_PER_TASK = 10;
const EVENTS_PER_TASK = 5;
const TASKS_PER_PERSON = 10;
const ROUNDS = 5;
const SECONDS = Number(process.env.GROWTH_SECONDS ?? 2);
/** Few, so that a request's time is its own and not that of the others before it. */
const CONNECTIONS = 2;
const LIFECYCLES = 300;
/** Those who go through lifecycles together. */
const LIFECYCLE_KEYS = 4;
const AT_MOST = 1.3;
/** Messages of the owner's one conversation: 10 in the smallest of the usual sizes, 10,000 in the largest. */
const messagesAt = (tasks: number) => Math.max(1, Math.min(10_000, Math.round(tasks ** 2 / 10_000_000)));

/** One size of the service, and how to reach it. */
interface Stage {
  tasks: number;
  port: number;
  /** A person with tasks, entries and events of their own. */
  owner: string;
  callers: string[];
  /** The bid and the task of the owner's conversation. */
  talk: { bidId: string; taskId: string };
}

/**
 * The p99 of each read and write while everything grows a hundredfold: tasks, and in proportion ledger entries, events and
 * people. All sizes take turns in one run. Also prints what a lifecycle stores for good.
 */
const bench: Bench = async (environment) => {
  const store = await startStore(environment);
  await printBytes(environment, store);
  const stages: Stage[] = [];
  for (const tasks of SIZES) stages.push(await startStage(environment, tasks, store.variables));

  const p99s = new Map<string, Map<number, number[]>>();
  const note = (what: string, { tasks }: Stage, ms: number) => {
    const ofWhat = p99s.get(what) ?? new Map<number, number[]>();
    p99s.set(what, ofWhat.set(tasks, [...(ofWhat.get(tasks) ?? []), ms]));
  };
  const generator = await startLoadGenerator(environment);
  const lifecycles = await startLifecycleGenerator(environment);
  const firsts = new Map<string, number>();
  for (let round = -1; round < ROUNDS; round++) {
    for (const what of Object.keys(loadsOf(stages[0], 0))) {
      for (const stage of round % 2 === 0 ? stages : stages.toReversed()) {
        const load = loadsOf(stage, round + 1)[what];
        if (load === undefined) continue;
        const first = firsts.get(`${what} ${stage.tasks}`) ?? 0;
        const { p99Ms, sent } = await generator.run({ ...load, port: stage.port, seconds: SECONDS, first });
        firsts.set(`${what} ${stage.tasks}`, first + sent);
        if (round >= 0) note(what, stage, p99Ms);
      }
    }
    for (const stage of round % 2 === 0 ? stages : stages.toReversed()) {
      const { port } = stage;
      const keys = stage.callers.slice(0, LIFECYCLE_KEYS);
      const { p99Ms } = await lifecycles.run({ port, storePort: store.port, keys, seconds: 2 * SECONDS });
      if (round >= 0) for (const [step, ms] of Object.entries(p99Ms)) note(`POST ${step}, in a lifecycle`, stage, ms);
    }
    environment.log(`round ${round + 1} of ${ROUNDS} done`);
  }

  const [smallest = 0, largest = 0] = [SIZES[0], SIZES.at(-1)];
  return [...p99s].map(([what, bySize]): Measurement => {
    const at = (tasks: number) => medianOf(bySize.get(tasks) ?? []);
    environment.log(`${what}: ${SIZES.map((tasks) => `${at(tasks).toFixed(1)} ms`).join(", ")}`);
    const against = `at ${smallest.toLocaleString("en")} tasks`;
    const figures = { ours: at(largest), baseline: at(smallest) };
    return {
      what: `${what}, p99 at ${largest.toLocaleString("en")} tasks`,
      unit: "ms",
      ...figures,
      against,
      atMost: AT_MOST,
    };
  });
};
export default bench;

async function startStage(
  environment: BenchEnvironment,
  tasks: number,
  variables: Record<string, string>,
): Promise<Stage> {
  const { databases, log } = environment;
  const databaseUrl = await databases.migrated(`growth_${tasks}`);
  const callers = Array.from({ length: CONNECTIONS * (ROUNDS + 1) }, generateApiKey);
  const size: MarketSize = { tasks, people: tasks / TASKS_PER_PERSON, callers, savers: [], savings: 0 };
  log(`writing ${tasks.toLocaleString("en")} tasks`);
  await seedMarket(databaseUrl, size);
  const history = { ledgerEntries: ENTRIES_PER_TASK * tasks, events: EVENTS_PER_TASK * tasks };
  log(
    `writing ${history.ledgerEntries.toLocaleString("en")} entries and ${history.events.toLocaleString("en")} events`,
  );
  await seedHistory(databaseUrl, size, history);
  const owner = generateApiKey();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `INSERT INTO api_keys (id, user_id, label, scopes, key_hash, last4) VALUES ($1, $2, 'bench', '{}', $3, 'AAAA')`,
    [keyIdOf(100), userIdOf(2), hashSecret(owner)],
  );
  const talk = await writeConversation(client, messagesAt(tasks));
  await client.query("CHECKPOINT");
  await client.end();
  return {
    tasks,
    callers,
    owner,
    talk,
    port: await startRebid({ ...environment, databaseUrl }, { environment: variables }),
  };
}

/** Writes a conversation about one of the owner's tasks, both sides in turn. */
async function writeConversation(client: pg.Client, count: number): Promise<Stage["talk"]> {
  const { rows } = await client.query<{ bidId: string; taskId: string; buyerId: string; bidderId: string }>(
    `SELECT b.id AS "bidId", t.id AS "taskId", t.buyer_id AS "buyerId", b.bidder_id AS "bidderId"
     FROM tasks t JOIN bids b ON b.task_id = t.id WHERE t.buyer_id = $1 OR b.bidder_id = $1 LIMIT 1`,
    [userIdOf(2)],
  );
  const [bid] = rows;
  if (bid === undefined) throw new Error("the owner has neither a bid nor a task with one");
  const { bidId, taskId, buyerId, bidderId } = bid;
  await client.query(
    `INSERT INTO messages (bid_id, task_id, sender_id, role, text, file_count, to_buyer, to_bidder, created_at)
     SELECT $1, $2, CASE n % 2 WHEN 0 THEN $3::uuid ELSE $4::uuid END, CASE n % 2 WHEN 0 THEN 'buyer' ELSE 'bidder' END,
            'Message ' || n, 0, (n + 1) / 2, n / 2, now() - ($5 - n) * interval '1 second'
     FROM generate_series(1, $5::int) n`,
    [bidId, taskId, buyerId, bidderId, count],
  );
  await client.query(
    `INSERT INTO conversations (bid_id, user_id, side, with_id, last_message_id, updated_at)
     SELECT bid_id, side.user_id, side.name, side.with_id, m.id, m.created_at
     FROM (SELECT * FROM messages WHERE bid_id = $1 ORDER BY created_at DESC LIMIT 1) m,
          (VALUES ('buyer', $2::uuid, $3::uuid), ('bidder', $3::uuid, $2::uuid)) AS side (name, user_id, with_id)`,
    [bidId, buyerId, bidderId],
  );
  await client.query("ANALYZE messages, conversations");
  return { bidId, taskId };
}

type GrowthLoad = Omit<Load, "port" | "seconds" | "first">;

/** The loads of one turn. Bids have callers of their own in each: nobody bids twice on a task, however few there are. */
function loadsOf(stage: Stage | undefined, turn: number): Record<string, GrowthLoad> {
  if (stage === undefined) return {};
  const { tasks, owner, callers, talk } = stage;
  const openTasks = Math.floor(0.7 * tasks);
  const as = (key: string) => ({ Authorization: `Bearer ${key}`, "Content-Type": "application/json" });
  const read = (path: string, key = owner): GrowthLoad => {
    const headers = Array.from({ length: CONNECTIONS }, () => as(key));
    return { method: "GET", path, headers, modulo: Math.floor(path.includes("__page__") ? openTasks / 50 : openTasks) };
  };
  const write = (path: string, input: object, from = 0): GrowthLoad => {
    const headers = callers.slice(from, from + CONNECTIONS).map(as);
    return { method: "POST", path, headers, body: JSON.stringify(input), modulo: openTasks };
  };
  const newTask = {
    title: "Translate a page",
    description: "From English.",
    maxBudgetCents: 100,
    tags: ["translation"],
  };
  return {
    "GET /tasks": read("/tasks"),
    "GET /tasks?cursor": read("/tasks?cursor=__page__"),
    "GET /tasks?tag": read("/tasks?tag=topic7"),
    "GET /tasks/[id]": read("/tasks/__task__"),
    "GET /tasks/[id], with a conversation": read(`/tasks/${talk.taskId}`),
    "GET /bids/[id]/messages": read(`/bids/${talk.bidId}/messages`),
    "GET /conversations": read("/conversations"),
    "GET /me/tasks": read("/me/tasks"),
    "GET /bids": read("/bids"),
    "GET /wallet": read("/wallet"),
    "GET /wallet/ledger": read("/wallet/ledger"),
    "GET /events": read("/events"),
    "POST /tasks": write("/tasks", newTask),
    "POST /tasks/[id]/bids": write("/tasks/__task__/bids", { priceCents: 90, etaHours: 24 }, turn * CONNECTIONS),
  };
}

/** What a lifecycle adds to each table and its indexes, once the worker has told its events. */
async function printBytes(environment: BenchEnvironment, store: Awaited<ReturnType<typeof startStore>>): Promise<void> {
  const { databases, log } = environment;
  const databaseUrl = await databases.migrated("growth_bytes");
  const keys = Array.from({ length: 4 }, generateApiKey);
  await seedMarket(databaseUrl, { tasks: 1_000, people: 100, callers: keys, savers: [], savings: 0 });
  const variables = { ...store.variables, ROLE: "all" };
  const port = await startRebid({ ...environment, databaseUrl }, { environment: variables });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  environment.onEnd(() => client.end());
  const sizes = async () => {
    await client.query("VACUUM");
    const { rows } = await client.query<{ name: string; bytes: string }>(`
      SELECT relid::regclass::text AS name, pg_total_relation_size(relid) AS bytes FROM pg_stat_user_tables`);
    return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
  };
  const generator = await startLifecycleGenerator(environment);
  const before = await sizes();
  let done = 0;
  while (done < LIFECYCLES) {
    done += (await generator.run({ port, storePort: store.port, keys, seconds: SECONDS })).lifecycles;
  }
  const after = await sizes();
  const grown = [...after]
    .map(([name, bytes]) => ({ name, bytes: (bytes - (before.get(name) ?? 0)) / done }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  const total = grown.reduce((sum, { bytes }) => sum + bytes, 0);
  const figure = (bytes: number) => Math.round(bytes).toLocaleString("en");
  log(
    `a lifecycle stores ${figure(total)} bytes: ${grown.map(({ name, bytes }) => `${name} ${figure(bytes)}`).join(", ")}`,
  );
}
