import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import pg from "pg";
import { type Bench, type BenchEnvironment, interleave, type Measurement } from "../setup/bench.ts";
import { startProcess } from "../setup/processes.ts";

const ENDPOINTS = 20;
const BACKLOG_EVENTS = 1_000;
const SLOW_EVENTS = 500;
const EMPTY_JOBS = 20_000;
const PACED_SECONDS = 15;
const MANY_ENDPOINTS = 5_000;
const ISOLATION_EVENTS = 500;
const ISOLATION_EVENTS_PER_SECOND = 25;
const ISOLATION_ROUNDS = 2;

const nowMs = () => performance.timeOrigin + performance.now();
const setupFile = (name: string) => new URL(`../setup/${name}.ts`, import.meta.url).pathname;
const figure = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: 3 });

/**
 * Events from their commit to their receivers, with one worker: deliveries per second (against graphile-worker's empty
 * jobs in the same run), the delay of the first attempt, and the effects of 5,000 endpoints and of a dead one.
 */
const bench: Bench = async (environment) => {
  const { log } = environment;
  const stage = await setUp(environment);

  const emptyJobs = await measureEmptyJobs(environment, stage.client);
  log(`graphile-worker, empty jobs: ${figure(emptyJobs)} jobs/s`);

  const quick = await measureBacklog(stage, 0, BACKLOG_EVENTS);
  log(`receivers that answer at once: ${figure(quick)} deliveries/s`);
  const slow = await measureBacklog(stage, 300, SLOW_EVENTS);
  log(`receivers that answer after 300 ms: ${figure(slow)} deliveries/s`);

  const pace = quick / 10 / ENDPOINTS;
  const paced = await measurePaced(stage, Math.ceil(pace * PACED_SECONDS), pace);
  log(
    `at a tenth of that rate, from commit to first attempt: p50 ${figure(paced.p50)} ms, p99 ${figure(paced.p99)} ms`,
  );

  await stage.register(Array.from({ length: MANY_ENDPOINTS }, (_, index) => stage.okUrl(index, 0)));
  const many = await measurePaced(stage, 1, 1);
  log(
    `one event to ${figure(MANY_ENDPOINTS)} endpoints: first after ${figure(many.first)} ms, p50 ${figure(many.p50)} ms, all after ${figure(many.last)} ms`,
  );

  const healthy = Array.from({ length: ENDPOINTS }, (_, index) => stage.okUrl(index, 0));
  const p99Beside = async (bad: string[]) => {
    await stage.register(healthy, bad);
    const { p99 } = await measurePaced(stage, ISOLATION_EVENTS, ISOLATION_EVENTS_PER_SECOND);
    return p99;
  };
  const p99s = await interleave(
    ISOLATION_ROUNDS,
    () => p99Beside([stage.silentUrl, stage.failingUrl]),
    () => p99Beside([]),
  );
  log(`${ENDPOINTS} healthy endpoints, ${ISOLATION_EVENTS} events each: p99 ${figure(p99s.baseline)} ms alone,`);
  log(`  ${figure(p99s.ours)} ms beside an endpoint that never answers and one that fails at once`);
  const megabytes = (bytes: number) => Math.round(bytes / 2 ** 20);
  const memory = stage.memory.map(({ usedBytes, rssBytes }) => `${megabytes(usedBytes)} (${megabytes(rssBytes)})`);
  log(`the worker's memory after each measurement, in MB, used and resident: ${memory.join(", ")}`);

  const jobs = "graphile-worker's empty jobs";
  return [
    { what: "Deliveries, receivers that answer at once", unit: "/s", ours: quick, baseline: emptyJobs, against: jobs },
    {
      what: "Deliveries, receivers that answer after 300 ms",
      unit: "/s",
      ours: slow,
      baseline: emptyJobs,
      against: jobs,
    },
    limit("Deliveries a second, receivers that answer at once: the aim", "/s", quick, 1_000),
    limit(
      "Speed of the 99th of 100 first attempts at a tenth of that rate (1000 / ms): the aim",
      "",
      1_000 / paced.p99,
      4,
    ),
    {
      what: "Speed of the 99th of 100 arrivals at healthy endpoints, beside a dead and a failing one (1000 / ms)",
      ...{ unit: "", ours: 1_000 / p99s.ours, baseline: 1_000 / p99s.baseline, against: "without these", atLeast: 0.5 },
    },
  ];
};
export default bench;

function limit(what: string, unit: string, ours: number, aim: number): Measurement {
  return { what, unit, ours, baseline: aim, against: "aim", atLeast: 1 };
}

interface Stage {
  client: pg.Client;
  receiver: ChildProcess;
  worker: { current: ChildProcess | null; start(): Promise<void> };
  okUrl(index: number, delayMs: number): string;
  silentUrl: string;
  failingUrl: string;
  /** Replaces all subscribed endpoints with these; nothing is expected to arrive at `bad` ones. */
  register(healthy: string[], bad?: string[]): Promise<void>;
  expected: number;
  memory: Memory[];
}

interface Memory {
  usedBytes: number;
  rssBytes: number;
}

async function setUp(environment: BenchEnvironment): Promise<Stage> {
  const { databaseUrl, onEnd } = environment;
  const [port, silentPort] = [await getPort(), await getPort()];
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  onEnd(() => client.end());
  await client.query(`
    WITH owner AS (
      INSERT INTO users (email, password_hash, display_name) VALUES ('owner@example.com', '', 'Owner') RETURNING id)
    INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags)
    SELECT id, 'Translate a page', 'From English to Finnish, in plain words.', 10000, '{translation}' FROM owner`);
  const receiver = await startProcess(environment, setupFile("webhookReceiver"), {
    environment: { PORT: String(port), SILENT_PORT: String(silentPort) },
    ready: /^ready$/,
  });
  const stage: Stage = {
    client,
    receiver,
    worker: {
      current: null,
      async start() {
        stage.worker.current ??= await startProcess(environment, setupFile("webhookWorker"), {
          environment: { DATABASE_URL: databaseUrl },
          nodeOptions: ["--expose-gc"],
          ready: /^ready$/,
        });
      },
    },
    // Every endpoint is an origin of its own: 127.0.0.1 has 16 million neighbours.
    okUrl: (index, delayMs) => `http://127.1.${index >> 8}.${index & 255}:${port}/ok/${delayMs}`,
    silentUrl: `http://127.2.0.1:${silentPort}/`,
    failingUrl: `http://127.2.0.2:${port}/fails`,
    async register(healthy, bad = []) {
      await client.query("UPDATE webhook_endpoints SET deleted_at = now() WHERE deleted_at IS NULL");
      await client.query(
        // Each has an owner of its own, because those of one owner share a limit.
        `WITH endpoints AS (SELECT url, uuid_v7() AS owner_id FROM unnest($1::text[]) AS url),
         owners AS (
           INSERT INTO users (id, email, password_hash, display_name)
           SELECT owner_id, owner_id || '@example.com', '', 'Owner' FROM endpoints),
         hosts AS (
           INSERT INTO webhook_hosts (host) SELECT DISTINCT split_part(url, '/', 3) FROM endpoints ON CONFLICT DO NOTHING)
         INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret)
         SELECT owner_id, url, split_part(url, '/', 3), '{task.created}', 'whsec_bench' FROM endpoints`,
        [[...healthy, ...bad]],
      );
      stage.expected = healthy.length;
    },
    expected: 0,
    memory: [],
  };
  return stage;
}

/** Commits one event, as posting a task does, and returns its id. */
async function commitEvent(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ id: string }>(`
    INSERT INTO events (type, task_id, data)
    SELECT 'task.created', id, jsonb_build_object('task', to_jsonb(tasks)) FROM tasks RETURNING id`);
  return rows[0]?.id ?? "";
}

async function ask<Answer>(child: ChildProcess, message: string): Promise<Answer> {
  const answer = once(child, "message");
  child.send(message);
  return (await answer)[0];
}

/** Waits for `count` arrivals and returns them. Duplicates would show as too many. */
async function takeArrivals(stage: Stage, count: number): Promise<[string, number][]> {
  const deadline = nowMs() + 180_000;
  while ((await ask<number>(stage.receiver, "count")) < count) {
    if (nowMs() > deadline) throw new Error("not everything arrived");
    await sleep(20);
  }
  const arrivals = await ask<[string, number][]>(stage.receiver, "take");
  if (arrivals.length !== count) throw new Error(`${arrivals.length} arrivals instead of ${count}`);
  if (stage.worker.current) stage.memory.push(await ask<Memory>(stage.worker.current, "memory"));
  return arrivals;
}

/** Deliveries a second while there is always something to do: from the last event's commit to the last arrival. */
async function measureBacklog(stage: Stage, delayMs: number, events: number): Promise<number> {
  await stage.register(Array.from({ length: ENDPOINTS }, (_, index) => stage.okUrl(index, delayMs)));
  await stage.worker.start();
  // The worker learns which endpoints are quick; a customer's worker has learnt it long ago.
  await commitEvent(stage.client);
  await takeArrivals(stage, ENDPOINTS);
  await stage.client.query("BEGIN");
  for (let event = 0; event < events; event++) await commitEvent(stage.client);
  await stage.client.query("COMMIT");
  const committedMs = nowMs();
  const arrivals = await takeArrivals(stage, events * ENDPOINTS);
  const lastMs = arrivals.reduce((last, [, atMs]) => Math.max(last, atMs), 0);
  return arrivals.length / ((lastMs - committedMs) / 1000);
}

/** Milliseconds from an event's commit to its arrival at each endpoint, at `eventsPerSecond`. */
async function measurePaced(stage: Stage, events: number, eventsPerSecond: number) {
  const committedMs = new Map<string, number>();
  const startedMs = nowMs();
  for (let event = 0; event < events; event++) {
    await sleep(Math.max(0, startedMs + (event * 1000) / eventsPerSecond - nowMs()));
    const id = await commitEvent(stage.client);
    committedMs.set(id, nowMs());
  }
  const arrivals = await takeArrivals(stage, events * stage.expected);
  const delays = arrivals.map(([id, atMs]) => atMs - (committedMs.get(id) ?? Number.NaN)).sort((a, b) => a - b);
  const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))] ?? Number.NaN;
  return { first: at(0), p50: at(0.5), p99: at(0.99), last: at(1) };
}

async function measureEmptyJobs(environment: BenchEnvironment, client: pg.Client): Promise<number> {
  await client.query(
    `SELECT count(*) FROM graphile_worker.add_jobs(
       ARRAY(SELECT ('empty', '{}', NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
             FROM generate_series(1, $1)))`,
    [EMPTY_JOBS],
  );
  const startedMs = nowMs();
  const child = await startProcess(environment, setupFile("emptyJobs"), {
    environment: { DATABASE_URL: environment.databaseUrl, JOBS: String(EMPTY_JOBS) },
    ready: /^ready$/,
  });
  const readyMs = nowMs();
  const [endedMs] = (await once(child, "message")) as [number];
  child.kill("SIGTERM");
  return EMPTY_JOBS / ((endedMs - Math.max(startedMs, readyMs)) / 1000);
}
