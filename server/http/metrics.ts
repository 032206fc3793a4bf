import { createHash, timingSafeEqual } from "node:crypto";
import { type Request, type RequestHandler, Router } from "express";
import type { Pool } from "pg";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Config } from "../config.ts";
import { DURATION_BUCKETS, processRegistry } from "../measures.ts";
import type { Services } from "../services.ts";
import { databaseFigures } from "./databaseFigures.ts";
import type { Load } from "./overload.ts";
import { allowOnly } from "./sendError.ts";

/** What operators measure of one process and its database. */
export interface Metrics {
  /** Adds the figures of the application's load. Call it once. */
  watch(load: Load): void;
  /** Counts and times every request that comes after it. */
  time: RequestHandler;
  /**
   * `/metrics`, in Prometheus' text format: requests, connections and memory of this process, and what waits in the
   * database.
   */
  page: Router;
}

/** @param pools the connection pools of this process, by what they are for: `requests`, `jobs` */
export function createMetrics(services: Services, pools: Pools = { requests: services.database.pool }): Metrics {
  const registry = new Registry();
  const readFigures = databaseFigures(services);
  addRefusals(registry, services);
  addPoolFigures(registry, pools);
  addStandbyFigures(registry, services);
  return {
    watch: (load) => addLoadFigures(registry, load),
    time: timeRequests(registry),
    page: Router()
      .get("/metrics", async (request, response) => {
        const all = Registry.merge([registry, await readFigures(timeoutMsOf(request)), processRegistry]);
        response.type(all.contentType).send(await all.metrics());
      })
      .all("/metrics", allowOnly("GET")),
  };
}

/** How long the figures of the database may take, so that Prometheus gets those of the process whatever the database does. */
const DATABASE_TIMEOUT_MS = 2_000;

/** Half of the time after which Prometheus, as it says, gives up, if that is less. */
function timeoutMsOf(request: Request): number {
  const scrapeSeconds = Number(request.get("X-Prometheus-Scrape-Timeout-Seconds") ?? Number.NaN);
  return scrapeSeconds > 0 ? Math.min(DATABASE_TIMEOUT_MS, scrapeSeconds * 500) : DATABASE_TIMEOUT_MS;
}

/** Where `/metrics` is served. */
export type MetricsAccess = Pick<Config, "production" | "metricsPort" | "metricsToken">;

/**
 * Serves `/metrics` on the service's own port: to a bearer of `METRICS_TOKEN` or, in development, to anyone unless one of
 * the two settings says otherwise. To anyone else, there is no such path.
 */
export function publicMetrics({ page }: Metrics, access: MetricsAccess): RequestHandler {
  const { production, metricsPort, metricsToken } = access;
  const isOpen = !production && metricsPort === null && metricsToken === null;
  return (request, response, next) => {
    if (isOpen || (metricsToken !== null && hasToken(request, metricsToken))) page(request, response, next);
    else next();
  };
}

function hasToken({ headers }: Request, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token)); // digests, because they have the same length
}

function timeRequests(registry: Registry): RequestHandler {
  const requests = new Counter({
    name: "rebid_http_requests_total",
    help: "Requests answered by this process, by method and HTTP status.",
    labelNames: ["method", "status"],
    registers: [registry],
  });
  const duration = new Histogram({
    name: "rebid_http_request_duration_seconds",
    help: "Time from a request's arrival to the end of its response, by operation (such as tasks.create) and HTTP status.",
    labelNames: ["operation", "status"],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  return (request, response, next) => {
    const startMs = performance.now();
    response.once("finish", () => {
      // The transports set it. A path would not do for a label: clients choose it, and each value is a time series.
      const { operation = "other" }: { operation?: string } = response.locals;
      const status = response.statusCode;
      requests.inc({ method: request.method, status });
      duration.observe({ operation, status }, (performance.now() - startMs) / 1000);
    });
    next();
  };
}

function addLoadFigures(registry: Registry, load: Load): void {
  addMeasured(registry, "rebid_calls_underway", "Calls that are being answered.", () => load.callsUnderWay);
  addMeasured(
    registry,
    "rebid_calls_waiting",
    "Calls that wait for another call of the same caller.",
    () => load.turns.waiting,
  );
}

function addMeasured(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

type Pools = Readonly<Record<string, Pick<Pool, "totalCount" | "idleCount" | "waitingCount">>>;

function addPoolFigures(registry: Registry, pools: Pools): void {
  const figures = [
    ["rebid_database_pool_connections", "Open connections to the database, by what they are for.", "totalCount"],
    ["rebid_database_pool_idle", "Open connections that nobody is using.", "idleCount"],
    ["rebid_database_pool_waiting", "Queries and transactions waiting for a connection.", "waitingCount"],
  ] as const;
  for (const [name, help, figure] of figures) {
    new Gauge({
      name,
      help,
      labelNames: ["pool"],
      registers: [registry],
      collect() {
        for (const [pool, counts] of Object.entries(pools)) this.set({ pool }, counts[figure]);
      },
    });
  }
}

function addStandbyFigures(registry: Registry, { publicReads }: Services): void {
  new Gauge({
    name: "rebid_standby_behind_seconds",
    help: "Time since a standby last had what the primary had written a second before, by its place in DATABASE_REPLICA_URLS.",
    labelNames: ["standby"],
    registers: [registry],
    collect() {
      for (const [index, seconds] of publicReads.behindSeconds().entries()) this.set({ standby: index + 1 }, seconds);
    },
  });
}

function addRefusals(registry: Registry, { limiter }: Services): void {
  new Counter({
    name: "rebid_rate_limited_total",
    help: "Requests and calls of batches that this process refused because of a rate limit, by limit.",
    labelNames: ["limit"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [limit, count] of limiter?.refusals ?? []) this.inc({ limit }, count);
    },
  });
}
