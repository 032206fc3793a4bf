import { RebidConnectionError, RebidError, RebidUploadError } from "./errors.ts";

/**
 * What a repeat would do: nothing new for a read, nothing new for a change with an `Idempotency-Key`, and a second change
 * without one.
 */
export type Safety = "read" | "keyed" | "unkeyed";

const BASE_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
/** The service's rate limits have windows of a minute. Whoever has to wait for longer should know. */
const MAX_RETRY_AFTER_SECONDS = 60;

const retriedStatuses = new Set([429, 500, 502, 503, 504]);

/** Whether the same request, sent again, may succeed and cannot do anything twice. */
export function isWorthRetrying(error: unknown, safety: Safety): boolean {
  if (error instanceof RebidConnectionError) return safety !== "unkeyed";
  if (error instanceof RebidUploadError) return error.status >= 500 && safety !== "unkeyed";
  if (!(error instanceof RebidError)) return false;
  if ((error.retryAfter ?? 0) > MAX_RETRY_AFTER_SECONDS) return false;
  // What exceeds a limit was not done. What failed in another way may have been.
  return error.status === 429 || (retriedStatuses.has(error.status) && safety !== "unkeyed");
}

/** Exponential, with half of it by chance, so that many clients do not come back together. Never before `Retry-After`. */
export function retryDelayMs(retry: number, retryAfterSeconds: number | undefined, random: () => number): number {
  const backoffMs = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** retry) * (0.5 + random() / 2);
  return retryAfterSeconds === undefined ? backoffMs : retryAfterSeconds * 1000 + backoffMs / 2;
}
