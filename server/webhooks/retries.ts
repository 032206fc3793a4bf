/** The result of one attempt. `statusCode` is null when there was no complete response; `error` then says why. */
export interface Attempt {
  attemptedAt: string;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

type Verdict = "succeeded" | "retry" | "rejected" | "gone";

/**
 * Classifies the response to an attempt: 2xx is a success; 5xx, timeouts and connection errors are retried; anything
 * else (3xx, 4xx) is final, and 410 means that the endpoint is gone. Source: docs/contract.md "Events and webhooks".
 */
export function classifyResponse({ statusCode }: Pick<Attempt, "statusCode">): Verdict {
  if (statusCode === null || statusCode >= 500) return "retry";
  if (statusCode >= 200 && statusCode < 300) return "succeeded";
  return statusCode === 410 ? "gone" : "rejected";
}

/**
 * Returns the seconds until the next attempt, or null when none is left. `attemptsLeft` excludes the attempt that just
 * failed, and `schedule` lists the delays in seconds. A new delivery has one attempt more than the schedule has delays;
 * a replay has a single attempt. The delay varies by ±10 %, so that deliveries that failed together are not all retried
 * together.
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
