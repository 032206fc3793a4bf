import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { BackingServices } from "../backingServices.ts";
import type { Config } from "../config.ts";
import { createApp, createMetricsApp } from "../http/app.ts";
import { commonHeaders } from "../http/commonHeaders.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { serve } from "../http/server.ts";
import { startWorker } from "../jobs/worker.ts";
import { ensurePushKey } from "../notifications/pushKeys.ts";
import { createServices, type Services, type TestClockAccess } from "../services.ts";
import { openDatabase } from "../store/database.ts";
import { followTestClock } from "../store/followTestClock.ts";
import { checkPooledRole } from "../store/pooledRole.ts";
import { jobPool, type PoolSettings, requestPool } from "../store/poolSettings.ts";
import { type Ground, ownAddress } from "./ground.ts";

/** Number of jobs that one process runs concurrently. */
const WORKER_CONCURRENCY = 8;

export interface RunningService {
  /** The service's own address; null for a worker, which serves no requests. */
  url: string | null;
  /** Lets balancers leave, finishes running requests and jobs, closes connections, and stops embedded services. */
  stop(): Promise<void>;
}

/**
 * Starts everything that the role needs, and waits for the sites. If a part fails to start, stops the parts that are
 * running, the backing services included, and rethrows.
 */
export async function startService(
  config: Config,
  log: Logger,
  { port, clock, backing }: Ground,
  sitesAreReady: Promise<unknown>,
): Promise<RunningService> {
  const stops: (() => Promise<void>)[] = [];
  const busy: (() => Promise<void>)[] = [];
  const stopPart = (part: () => Promise<void>) =>
    part().catch((error: unknown) => log.error({ error }, "a part of the service failed to stop"));
  const stopping = new AbortController();
  let drainMs = 0;
  const stop = async () => {
    stopping.abort();
    await sleep(drainMs);
    await Promise.all(busy.map(stopPart));
    for (const part of stops.toReversed()) await stopPart(part);
  };
  try {
    const publicUrl = config.publicUrl ?? `http://localhost:${port}`;
    stops.push(backing.stop);

    const testClock = testClockOf(backing, stopping.signal);
    if (testClock !== null) stops.push((await followTestClock(clock, { ...testClock, log })).stop);

    const settings = { ...config, publicUrl };
    const limiter = config.rateLimits ? {} : null;
    const { requestUrl, ...reached } = await requestsOver(config, backing.databaseUrl, log);
    const { services, close } = createServices(
      { ...backing, databaseUrl: requestUrl },
      { ...reached, ...{ settings, log, clock, testClock, limiter } },
    );
    stops.push(close);
    // Pools connect when they are used: a worker opens no connections for requests.
    const jobServices = { ...services, database: openDatabase(backing.databaseUrl, jobPool) };
    stops.push(jobServices.database.close);
    await Promise.all([
      config.role === "api" ? null : startJobs(jobServices, busy),
      config.role === "worker" ? null : ensurePushKey(services.database),
    ]);
    const pools = poolsOf(config.role, services, jobServices);
    const serving = { port, publicUrl, busy, stopping: stopping.signal };
    if (config.role === "worker") {
      await serveMetrics(jobServices, config, serving, createMetrics(jobServices, pools));
      return { url: null, stop };
    }
    // Where there are others, the figures do not wait for connections that requests use.
    const metrics = createMetrics(config.role === "all" ? jobServices : services, pools);
    await serveRequests(services, config, serving, metrics);
    drainMs = config.drainSeconds * 1000;
    await sitesAreReady;
    backing.announce(ownAddress(config.host, port));
    return { url: publicUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts the worker, and adds at once what stops it to `busy`, because what starts beside it may fail meanwhile. */
function startJobs(services: Services, busy: (() => Promise<void>)[]): Promise<unknown> {
  const worker = startWorker(services, { concurrency: WORKER_CONCURRENCY });
  // One that did not start has nothing to stop.
  busy.push(() =>
    worker.then(
      ({ stop }) => stop(),
      () => undefined,
    ),
  );
  return worker;
}

/** Only where database and payment processor are embedded can time be moved. */
function testClockOf(
  { databaseUrl, processor, hasTestClock }: BackingServices,
  stopping: AbortSignal,
): TestClockAccess | null {
  return hasTestClock && processor.apiBase ? { databaseUrl, processorUrl: processor.apiBase, stopping } : null;
}

const poolsOf = (role: Config["role"], { database: requests }: Services, { database: jobs }: Services) => ({
  ...(role !== "worker" && { requests: requests.pool }),
  ...(role !== "api" && { jobs: jobs.pool }),
});

/** How requests reach the database: through the pooler, if there is one. Workers always go to the database itself. */
async function requestsOver({ role, pooledUrl, replicaUrls }: Config, databaseUrl: string, log: Logger) {
  if (role === "worker") return { requestUrl: databaseUrl, pool: requestPool };
  if (pooledUrl === null) return { requestUrl: databaseUrl, pool: requestPool, replicaUrls };
  const pool: PoolSettings = { ...requestPool, pooler: "transaction" };
  await checkPooledRole(pooledUrl, pool);
  log.info("requests go through the pooler of DATABASE_URL; jobs, sweeps and deliveries go to DATABASE_DIRECT_URL");
  return { requestUrl: pooledUrl, pool, replicaUrls };
}

interface Serving {
  port: number;
  publicUrl: string;
  busy: (() => Promise<void>)[];
  stopping: AbortSignal;
}

// Not "localhost", which may mean ::1 only. Clients that use that name try both addresses.
const hostOf = ({ host, production }: Config) => host ?? (production ? undefined : "127.0.0.1");

/** Starts the servers of the API and of its metrics, and adds what stops each of them to `busy`. */
async function serveRequests(services: Services, config: Config, serving: Serving, metrics: Metrics): Promise<void> {
  const { port, publicUrl, busy, stopping } = serving;
  const headers = commonHeaders(publicUrl);
  const server = await serve(createApp(services, { ...config, stopping }, {}, metrics), port, hostOf(config), {
    headers,
  });
  busy.push(server.stop);
  busy.push(async () => services.eventFollower.stop());
  await serveMetrics(services, config, serving, metrics);
}

/** Starts the server of `METRICS_PORT`, which every role can have: a worker has no other. */
async function serveMetrics(
  services: Services,
  config: Config,
  { publicUrl, busy, stopping }: Serving,
  metrics: Metrics,
): Promise<void> {
  if (config.metricsPort === null) return;
  const headers = commonHeaders(publicUrl);
  const app = createMetricsApp(services, { ...config, stopping }, metrics);
  const server = await serve(app, config.metricsPort, hostOf(config), { headers, setting: "METRICS_PORT" });
  busy.push(server.stop);
}
