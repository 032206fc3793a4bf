import { setTimeout as sleep } from "node:timers/promises";
import { Gauge, Registry } from "prom-client";
import { findLastAudit } from "../audit/nightly.ts";
import { type Business, readBusiness } from "../market/business.ts";
import { countUnfinishedPayouts } from "../market/payouts/unfinished.ts";
import { countWaiting } from "../market/waiting.ts";
import type { Services } from "../services.ts";
import { isDatabaseUnavailable } from "../store/databaseErrors.ts";
import { isUnreconciled } from "../store/reconciliation.ts";
import { readSetUpAt } from "../store/schema.ts";
import { readBacklog } from "../webhooks/backlog.ts";

/** Reads the figures that the database holds; null if it does not respond. */
async function readFigures(services: Services, business: () => Business | null): Promise<Registry | null> {
  const figures = new Registry();
  try {
    await addAuditFigures(figures, services);
    await addBacklogFigures(figures, services);
    await addPayoutFigures(figures, services);
    addBusinessFigures(figures, business());
    return figures;
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return null;
  }
}

function addGauge(registry: Registry, name: string, help: string, value = 0): void {
  new Gauge({ name, help, registers: [registry] }).set(value);
}

function addGaugeBy(registry: Registry, label: string, name: string, help: string, values: [string, number][]): void {
  const gauge = new Gauge({ name, help, labelNames: [label], registers: [registry] });
  for (const [key, value] of values) gauge.set({ [label]: key }, value);
}

async function addAuditFigures(registry: Registry, services: Services): Promise<void> {
  const last = await findLastAudit(services);
  addGauge(
    registry,
    "rebid_ledger_audit_timestamp_seconds",
    "Unix time at which the last audit of the ledger ended; before the first, at which the database was set up.",
    Date.parse(last?.finishedAt ?? (await readSetUpAt(services.database))) / 1000,
  );
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
}

async function addBacklogFigures(registry: Registry, services: Services): Promise<void> {
  const { database, clock } = services;
  const waiting = await countWaiting(services);
  const now = clock.now();
  const { pending, oldestDueAt } = await readBacklog(database, now);
  const lateSeconds = oldestDueAt === null ? 0 : Math.max(0, (now.getTime() - Date.parse(oldestDueAt)) / 1000);
  const add = (name: string, help: string, value: number) => addGauge(registry, name, help, value);
  add("rebid_jobs_waiting", "Jobs that are due and that no worker has taken yet.", waiting.jobs);
  add("rebid_jobs_oldest_due_seconds", "Time since the oldest of them became due.", waiting.oldestJobSeconds);
  add("rebid_jobs_failed", "Jobs that have failed as often as they may.", waiting.failedJobs);
  add(
    "rebid_processor_events_waiting",
    "Events of the payment processor that are not applied yet.",
    waiting.processorEvents,
  );
  add(
    "rebid_processor_events_oldest_waiting_seconds",
    "Age of the oldest of them.",
    waiting.oldestProcessorEventSeconds,
  );
  add(
    "rebid_event_log_lag_seconds",
    "Age of the oldest event that has no place in the log yet.",
    waiting.eventLogLagSeconds,
  );
  add(
    "rebid_deadlines_overdue",
    "Tasks that should have been accepted or have expired by the clock more than a minute ago, counted up to 1,000.",
    waiting.overdue,
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

/** Sums over all wallets and tasks take long: they are read once in a while, and no scrape waits for them. */
const BUSINESS_INTERVAL_MS = 60_000;
const BUSINESS_MAX_AGE_MS = 5 * BUSINESS_INTERVAL_MS;

/** Returns a function that returns the last reading, null if it is too old, and begins a new one when it is due. */
function businessReader(services: Services): () => Business | null {
  let last: { value: Business; readAtMs: number } | null = null;
  let isReading = false;
  const ageMs = () => (last === null ? Number.POSITIVE_INFINITY : performance.now() - last.readAtMs);
  const read = async () => {
    isReading = true;
    try {
      const value = await readBusiness(services);
      last = { value, readAtMs: performance.now() };
    } catch (error) {
      if (!isDatabaseUnavailable(error)) services.log.error({ error }, "the business figures could not be read");
    } finally {
      isReading = false;
    }
  };
  return () => {
    if (!isReading && ageMs() > BUSINESS_INTERVAL_MS) void read();
    return ageMs() < BUSINESS_MAX_AGE_MS ? (last?.value ?? null) : null;
  };
}

/** Adds nothing before the first reading has ended. */
function addBusinessFigures(registry: Registry, business: Business | null): void {
  if (business === null) return;
  const { tasks, availableCents, heldCents, debtCents, payoutCents } = business;
  addGaugeBy(
    registry,
    "status",
    "rebid_tasks",
    "Tasks by status, once a minute; of those that have ended, what the database estimates.",
    tasks.map(({ status, count }) => [status, count]),
  );
  addGaugeBy(
    registry,
    "state",
    "rebid_money_cents",
    "Money of all users, once a minute: available, held for tasks, owed, or on its way out.",
    [
      ["available", availableCents],
      ["held", heldCents],
      ["debt", debtCents],
      ["payout", payoutCents],
    ],
  );
}

/**
 * Returns a function that reads the figures of the database: sums over all users once a minute, all others anew. Each scrape
 * gets a new registry, so that a figure that cannot be read is absent and not stale: while the database does not respond within
 * `timeoutMs`, because it hangs or because all connections are in use, the registry has only `rebid_database_up`.
 */
export function databaseFigures(services: Services): (timeoutMs: number) => Promise<Registry> {
  const business = businessReader(services);
  return async (timeoutMs) => {
    const read = new AbortController();
    const late = sleep(timeoutMs, null, { signal: read.signal });
    const figures = await Promise.race([readFigures(services, business), late]).finally(() => read.abort());
    const registry = figures ?? new Registry();
    addGauge(registry, "rebid_database_up", "1 if the database responds, otherwise 0.", figures === null ? 0 : 1);
    return registry;
  };
}
