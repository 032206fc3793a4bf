import type { Costs } from "./costs.ts";

/** How busy a core may be: beyond it, requests wait for each other for longer than they work. */
const BUSY = 0.6;
/** `requestPool` and `jobPool` of server/store/poolSettings.ts. */
export const CONNECTIONS_PER_API = 10;
export const CONNECTIONS_PER_WORKER = 14;
/** A server of the size that is easy to rent; not measured. */
export const LARGE_SERVER_CORES = 64;
/** Beyond so many, their own work for snapshots and locks begins to show; not measured here. */
export const DIRECT_CONNECTIONS = 500;
/** What waiting adds to the database's CPU time while a request holds a connection: commit and network; assumed. */
const WAITING_MS = 3;
const WRITES = 0.1;
/** A lifecycle has eight requests that write: one post, three bids, an award, two steps of a delivery, an acceptance. */
const WRITES_PER_LIFECYCLE = 8;

/** What standbys answer for visitors. `GET /tasks/[id]` is always read on the primary. */
const isPublic = (operation: string) => operation.startsWith("GET /tasks,");

/**
 * What an average request of the mix costs, and what follows from it: nine of ten read, evenly over the reads measured; the tenth
 * is one of a lifecycle.
 */
export function modelOf(costs: Costs) {
  const { lifecycle } = costs;
  const reads = Object.entries(costs.operations).filter(([name]) => name.startsWith("GET "));
  const mean = (figures: number[]) => figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
  const mixed = (ofReads: number[], ofLifecycle: number) =>
    (1 - WRITES) * mean(ofReads) + (WRITES * ofLifecycle) / WRITES_PER_LIFECYCLE;
  const apiMs = mixed(
    reads.map(([, cost]) => cost.apiMs),
    lifecycle.apiMs,
  );
  const databaseMs = mixed(
    reads.map(([, cost]) => cost.databaseMs),
    lifecycle.databaseMs,
  );
  const eventsPerRequest = (WRITES * rowsOf(costs, "events")) / WRITES_PER_LIFECYCLE;
  const publicMs =
    ((1 - WRITES) / reads.length) *
    reads.filter(([name]) => isPublic(name)).reduce((sum, [, cost]) => sum + cost.databaseMs, 0);
  const perCore = (ms: number) => (BUSY * 1000) / ms;
  return {
    ...{ apiMs, databaseMs, publicMs },
    /** Requests a second of one API process. */
    perProcess: perCore(apiMs),
    /** Requests a second of a primary with so many cores, with and without standbys for what is public. */
    primary: (cores: number, standbys = false) => cores * perCore(standbys ? databaseMs - publicMs : databaseMs),
    /** Requests a second at which the one connection that numbers events is busy. */
    numbering: perCore(costs.numberingMs) / eventsPerRequest,
    needs: (rate: number) => needs(rate, { costs, apiMs, databaseMs, publicMs }),
  };
}

interface Mean {
  costs: Costs;
  apiMs: number;
  databaseMs: number;
  publicMs: number;
}

/** What so many requests a second need. Two processes of each kind at least, so that one can be restarted. */
function needs(rate: number, { costs, apiMs, databaseMs, publicMs }: Mean) {
  const cores = (ms: number) => Math.ceil((rate * ms) / 1000 / BUSY);
  const lifecycles = (rate * WRITES) / WRITES_PER_LIFECYCLE;
  const api = Math.max(2, cores(apiMs));
  const workers = Math.max(2, Math.ceil((lifecycles * costs.lifecycle.workerMs) / 1000 / BUSY));
  return {
    ...{ api, workers, connections: api * CONNECTIONS_PER_API + workers * CONNECTIONS_PER_WORKER },
    /** Of which so many are busy: a request holds one while the database works, and while it waits. */
    busy: Math.ceil((rate * (databaseMs + WAITING_MS)) / 1000),
    primaryCores: cores(databaseMs),
    primaryCoresWithStandbys: cores(databaseMs - publicMs),
    standbyCores: cores(publicMs),
    entriesPerDay: lifecycles * rowsOf(costs, "ledger_entries") * 86_400,
    bytesPerDay: lifecycles * bytesForGood(costs) * 86_400,
  };
}

/** Tables whose rows are deleted some day; see "How long data is kept". */
const passing = /^(events|event_log|event_log_entries|event_log_queue|idempotency_keys|webhook_|graphile_worker)/;

export const isForGood = (table: string) => !passing.test(table);

export const bytesForGood = ({ lifecycle }: Costs) =>
  lifecycle.tables.filter(({ table }) => isForGood(table)).reduce((sum, { bytes }) => sum + bytes, 0);

export const rowsOf = ({ lifecycle }: Costs, name: string) =>
  lifecycle.tables.find(({ table }) => table === name)?.rows ?? 0;
