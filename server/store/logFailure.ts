import { isDatabaseUnavailable } from "./databaseErrors.ts";

export interface Log {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const INTERVAL_MS = 60_000;
/** When each log was last told that the database is away. */
const toldAtMs = new WeakMap<Log, number>();

/**
 * Logs a failure of work that is tried again by itself. While the database does not answer, all such work of a process
 * together is one line a minute.
 */
export function logFailure(log: Log, error: unknown, fields: object, message: string): void {
  if (!isDatabaseUnavailable(error)) {
    log.error({ ...fields, error }, message);
    return;
  }
  const nowMs = performance.now();
  if (nowMs - (toldAtMs.get(log) ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS) return;
  toldAtMs.set(log, nowMs);
  const reason = error instanceof AggregateError ? error.errors.map(String).join("; ") : String(error);
  log.warn({ reason, ...fields }, "the database does not answer; work in the background is tried again until it does");
}
