import type { Pool } from "pg";
import type { Logger } from "pino";
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import { type AddPoints, Buckets, type Count } from "./bucket.ts";
import { bucketOf, type Caller, defaultLimits, type PolicyName, type RateGroup, WINDOW_SECONDS } from "./policies.ts";

/** Counts requests. Created once, at startup; every process on the same database shares the counters. */
export interface RateLimiter {
  /** Counts one request. Never rejects. */
  count(group: RateGroup, caller: Caller): Promise<Count>;
  /** How many requests this process has refused, by policy. */
  readonly refusals: ReadonlyMap<PolicyName, number>;
}

/** Other figures than those of the contract, for tests. */
export interface LimiterOptions {
  limits?: Partial<Record<PolicyName, number>>;
  windowSeconds?: number;
}

/**
 * Opens the limiter on the table `rate_limits`. While the database fails, each process counts for itself, in memory, so
 * that the service goes on serving and passwords stay guarded.
 */
export function openLimiter(pool: Pool, log: Logger, options: LimiterOptions = {}): RateLimiter {
  const limits = { ...defaultLimits, ...options.limits };
  const windowSeconds = options.windowSeconds ?? WINDOW_SECONDS;
  const addPoints = sharedCounter(pool, log, windowSeconds);
  const open = (policy: PolicyName) =>
    new Buckets({
      policy,
      limit: limits[policy],
      windowSeconds,
      addPoints: (key, points) => addPoints(`${policy}:${key}`, points),
    });
  const buckets: Record<PolicyName, Buckets> = {
    signup: open("signup"),
    login: open("login"),
    recovery: open("recovery"),
    credentials: open("credentials"),
    exports: open("exports"),
    "anonymous-public-reads": open("anonymous-public-reads"),
    "anonymous-task-writes": open("anonymous-task-writes"),
    anonymous: open("anonymous"),
    "task-writes": open("task-writes"),
    reads: open("reads"),
    writes: open("writes"),
  };
  const refusals = new Map<PolicyName, number>();
  return {
    refusals,
    async count(group, caller) {
      const { policy, key } = bucketOf(group, caller);
      const count = await buckets[policy].count(key);
      if (!count.allowed) refusals.set(policy, (refusals.get(policy) ?? 0) + 1);
      return count;
    },
  };
}

/**
 * The counters in the database: one upsert for each addition. Windows follow the clocks of the processes, which must agree
 * to within a second, as `Retry-After` does.
 */
function sharedCounter(pool: Pool, log: Logger, windowSeconds: number): AddPoints {
  // The limits are in `Buckets`, which needs the counter only. So the library never refuses.
  const options = { keyPrefix: "", points: Number.MAX_SAFE_INTEGER, duration: windowSeconds };
  const shared = new RateLimiterPostgres({
    ...options,
    storeClient: pool,
    storeType: "pool",
    tableName: "rate_limits",
    // By the migration: the library would create the table while requests already arrive.
    tableCreated: true,
    // The job pruneRateLimits deletes old rows; the library's timer could not be stopped.
    clearExpiredByTimeout: false,
  });
  const ofThisProcess = new RateLimiterMemory(options);
  let failing = false;

  return async (key, points) => {
    const state = await shared.consume(key, points).then(
      (result) => {
        failing = false;
        return result;
      },
      (error: unknown) => {
        if (error instanceof RateLimiterRes) return error;
        if (!failing)
          log.warn({ error }, "rate limits cannot be counted in the database: this process counts for itself");
        failing = true;
        return ofThisProcess.consume(key, points);
      },
    );
    return { points: state.consumedPoints, msToReset: state.msBeforeNext };
  };
}
