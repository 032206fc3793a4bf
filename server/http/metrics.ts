import { createHash, timingSafeEqual } from "node:crypto";
import { type Request, type RequestHandler, Router } from "express";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { findLastAudit } from "../audit/nightly.ts";
import type { Config } from "../config.ts";
import { countUnfinishedPayouts } from "../market/payouts/unfinished.ts";
import { countWaiting } from "../market/waiting.ts";
import type { Services } from "../services.ts";
import { isDatabaseUnavailable } from "../store/databaseErrors.ts";
import { isUnreconciled } from "../store/reconciliation.ts";
import { readBacklog } from "../webhooks/backlog.ts";
import type { Load } from "./overload.ts";
import { allowOnly } from "./sendError.ts";

/** Upper bounds in seconds. Few, because each is a time series for every operation and status. */
const DURATION_BUCKETS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

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

export function createMetrics(services: Services): Metrics {
  const registry = new Registry();
  addRefusals(registry, services);
  return {
    watch: (load) => addLoadFigures(registry, services, load),
    time: timeRequests(registry),
    page: Router()
      .get("/metrics", async (_request, response) => {
        const all = Registry.merge([registry, await readDatabaseFigures(services), processFigures()]);
        response.type(all.contentType).send(await all.metrics());
      })
      .all("/metrics", allowOnly("GET")),
  };
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

function addLoadFigures(registry: Registry, { database: { pool } }: Services, load: Load): void {
  const figures = [
    ["rebid_calls_underway", "Calls that are being answered.", () => load.callsUnderWay],
    ["rebid_calls_waiting", "Calls that wait for another call of the same caller.", () => load.turns.waiting],
    ["rebid_database_pool_connections", "Open connections to the database, for requests.", () => pool.totalCount],
    ["rebid_database_pool_idle", "Open connections that nobody is using.", () => pool.idleCount],
    ["rebid_database_pool_waiting", "Queries and transactions waiting for a connection.", () => pool.waitingCount],
  ] as const;
  for (const [name, help, read] of figures) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  }
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

let processRegistry: Registry | undefined;

/** CPU, memory, event loop and garbage collection: one registry for the process, because its observers cannot be stopped. */
function processFigures(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}

/**
 * Reads the figures that the database holds. Each scrape gets a new registry, so that a figure that cannot be read is
 * absent and not stale: while the database is unreachable, the registry has only `rebid_database_up`.
 */
async function readDatabaseFigures(services: Services): Promise<Registry> {
  const figures = new Registry();
  let isUp = 1;
  try {
    await addAuditFigures(figures, services);
    await addBacklogFigures(figures, services);
    await addPayoutFigures(figures, services);
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    figures.clear();
    isUp = 0;
  }
  addGauge(figures, "rebid_database_up", "1 if the database responds, otherwise 0.", isUp);
  return figures;
}

function addGauge(registry: Registry, name: string, help: string, value = 0): void {
  new Gauge({ name, help, registers: [registry] }).set(value);
}

function addGaugeBy(registry: Registry, label: string, name: string, help: string, values: [string, number][]): void {
  const gauge = new Gauge({ name, help, labelNames: [label], registers: [registry] });
  for (const [key, value] of values) gauge.set({ [label]: key }, value);
}

/** Adds nothing before the first audit, so an alert should fire on a timestamp that is absent or old. */
async function addAuditFigures(registry: Registry, services: Services): Promise<void> {
  const last = await findLastAudit(services);
  if (last === null) return;
  const { checks, notCompared } = last.report;
  addGaugeBy(
    registry,
    "check",
    "rebid_ledger_discrepancies",
    "Discrepancies that the last audit of the ledger found, by check.",
    checks.map(({ name, count }) => [name, count]),
  );
  addGauge(
    registry,
    "rebid_ledger_audit_complete",
    "1 when the last audit made all its checks, 0 when it could not compare with the payment processor.",
    notCompared ? 0 : 1,
  );
  addGauge(
    registry,
    "rebid_ledger_audit_timestamp_seconds",
    "Unix time at which the last audit of the ledger ended.",
    Date.parse(last.finishedAt) / 1000,
  );
}

async function addBacklogFigures(registry: Registry, { database, clock }: Services): Promise<void> {
  const waiting = await countWaiting(database);
  const now = clock.now();
  const { pending, oldestDueAt } = await readBacklog(database, now);
  const lateSeconds = oldestDueAt === null ? 0 : Math.max(0, (now.getTime() - Date.parse(oldestDueAt)) / 1000);
  const add = (name: string, help: string, value: number) => addGauge(registry, name, help, value);
  add("rebid_jobs_waiting", "Jobs that are due and that no worker has taken yet.", waiting.jobs);
  add(
    "rebid_processor_events_waiting",
    "Events of the payment processor that are not applied yet.",
    waiting.processorEvents,
  );
  add("rebid_payouts_due", "Payouts whose next step is due.", waiting.payouts);
  add("rebid_webhook_deliveries_pending", "Webhook deliveries not sent yet, counted up to 10,000.", pending);
  add("rebid_webhook_oldest_due_seconds", "Time since the oldest due webhook delivery became due.", lateSeconds);
}

async function addPayoutFigures(registry: Registry, services: Services): Promise<void> {
  addGauge(
    registry,
    "rebid_payouts_paused",
    "1 while no payout is sent, because the database was restored and not compared with the processor since; otherwise 0.",
    Number(await isUnreconciled(services.database)),
  );
  const unfinished = await countUnfinishedPayouts(services);
  addGaugeBy(
    registry,
    "state",
    "rebid_payouts_unfinished",
    "Payouts that are neither paid nor failed, by state.",
    unfinished.map(({ state, count }) => [state, count]),
  );
  addGaugeBy(
    registry,
    "state",
    "rebid_payouts_oldest_unfinished_seconds",
    "Age of the oldest of them, by state; 0 when there are none.",
    unfinished.map(({ state, oldestSeconds }) => [state, oldestSeconds]),
  );
}
