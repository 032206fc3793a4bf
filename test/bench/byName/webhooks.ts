import { once } from "node:events";
import type pg from "pg";
import { type Bench, type BenchEnvironment, interleave, type Measurement } from "../setup/bench.ts";
import { startProcess } from "../setup/processes.ts";
import {
  commitEvent,
  measurePaced,
  nowMs,
  type Stage,
  setUpStage,
  setupFile,
  takeArrivals,
} from "../setup/webhookStage.ts";

const ENDPOINTS = 20;
const BACKLOG_EVENTS = 1_000;
const SLOW_EVENTS = 500;
const EMPTY_JOBS = 20_000;
const PACED_SECONDS = 15;
const ISOLATION_EVENTS = 500;
const ISOLATION_EVENTS_PER_SECOND = 25;
const ISOLATION_ROUNDS = 2;

const figure = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: 3 });

/**
 * Events from their commit to their receivers, with one worker: deliveries per second (against graphile-worker's empty
 * jobs in the same run), the delay of the first attempt, and the effect of a dead endpoint.
 */
const bench: Bench = async (environment) => {
  const { log } = environment;
  const stage = await setUpStage(environment);

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
