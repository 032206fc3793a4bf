/** What one attempt came to. `statusCode` is null when there was no complete answer; `error` then says why. */
export interface Attempt {
  attemptedAt: string;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

export type Verdict = "succeeded" | "retry" | "rejected" | "gone";

/**
 * 2xx is success; 5xx, time-out and connection errors are worth a retry; all else (3xx, 4xx) is final, and 410 says
 * that nobody is there any more. Source: interface.md "Delivery and retries", decisions.md "Events".
 */
export function classifyResponse({ statusCode }: Pick<Attempt, "statusCode">): Verdict {
  if (statusCode === null || statusCode >= 500) return "retry";
  if (statusCode >= 200 && statusCode < 300) return "succeeded";
  return statusCode === 410 ? "gone" : "rejected";
}

/**
 * Seconds until the next attempt, or null when none is left. `attemptsLeft` counts without the one that just failed:
 * a fresh delivery has one more than the schedule has delays, and a replay has one, so that it is tried once.
 * ±10 %, so that what failed together does not come back together.
 */
export function retryDelaySeconds(
  attemptsLeft: number,
  schedule: readonly number[],
  random: () => number = Math.random,
): number | null {
  if (attemptsLeft <= 0) return null;
  const delay = schedule[Math.max(0, schedule.length - attemptsLeft)];
  return delay === undefined ? null : delay * (0.9 + 0.2 * random());
}
