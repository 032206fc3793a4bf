import type { Logger } from "pino";
import { ApiError } from "../errors.ts";
import { type Connection, queryOne, sql } from "../store/connection.ts";
import {
  type Caller,
  counterOf,
  defaultLimits,
  type PolicyName,
  type RateGroup,
  shareOf,
  WINDOW_SECONDS,
} from "./policies.ts";

/** The rate limits as one request sees them, which may be a batch of calls. */
export interface RequestLimits {
  /** True once a call of the request has been counted. */
  readonly counted: boolean;
  /**
   * Counts one call.
   * @throws ApiError `rate_limited`; `invalid_input` for the second call of a batch that would hash a password
   */
  count(call: { group: RateGroup; hashesPassword?: boolean }): Promise<void>;
}

/** For calls that are not counted: without HTTP, or counted before. */
export const unlimited: RequestLimits = { counted: true, count: async () => {} };

/**
 * Returns the limits of one request. Without a limiter, only the rule about passwords holds. `setHeaders` is called with
 * the headers of the counter that is closest to its limit.
 */
export function limitsOf(
  limiter: RateLimiter | null,
  caller: Caller,
  setHeaders: (headers: Record<string, string>) => void,
): RequestLimits {
  let counted = false;
  let passwordCalls = 0;
  let closest: Count | undefined;

  async function countCall(group: RateGroup): Promise<void> {
    const count = await limiter?.count(group, caller);
    if (count === undefined) return;
    if (closest === undefined || count.remaining <= closest.remaining) {
      closest = count;
      setHeaders(headersOf(count));
    }
    if (!count.allowed) throw new ApiError("rate_limited", { retryAfterSeconds: count.resetSeconds });
  }

  return {
    get counted() {
      return counted;
    },
    async count({ group, hashesPassword = false }) {
      counted = true;
      if (hashesPassword) passwordCalls += 1;
      const isSecond = hashesPassword && passwordCalls > 1;
      await countCall(group);
      if (isSecond) {
        const message =
          "Only the first call of a batch that needs a password hash is made. Send the others one by one.";
        throw new ApiError("invalid_input", { issues: [{ path: "", message }] });
      }
    },
  };
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers-11: the policy (quota and window in seconds) and its state (remaining
 * requests, and seconds until the window ends).
 */
function headersOf({ policy, limit, windowSeconds, remaining, resetSeconds }: Count): Record<string, string> {
  return {
    "RateLimit-Policy": `"${policy}";q=${limit};w=${Math.ceil(windowSeconds)}`,
    RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  };
}

/** What counting one request found. */
interface Count {
  readonly policy: PolicyName;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly allowed: boolean;
  /** Requests that this caller may still send in the window, as far as this process knows. */
  readonly remaining: number;
  /** Seconds until the window ends, rounded up; at least 1. */
  readonly resetSeconds: number;
}

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

/** Opens the limiter on the table `rate_limits`. */
export function openLimiter(database: Connection, log: Logger, options: LimiterOptions = {}): RateLimiter {
  return new SharedLimiter(database, log, options);
}

/** What this process knows of one caller's window. */
interface Window {
  /** The counter's key: the policy and the caller. */
  readonly key: string;
  readonly policy: PolicyName;
  readonly limit: number;
  endsAtMs: number;
  /** Taken from the shared counter and not used yet. */
  unused: number;
  /** What the shared counter had left when this process last saw it. */
  remaining: number;
  readonly waiting: ((allowed: boolean) => void)[];
}

/**
 * Counts requests by caller in fixed windows. The shared counter only grows within a window, and a process uses only what
 * its own additions took below the limit. So all processes together never allow more than the limit, and once the counter
 * is at the limit, requests are refused without asking it again. Windows follow the clocks of the processes, which must
 * agree to within a second, as `Retry-After` does.
 */
class SharedLimiter implements RateLimiter {
  readonly refusals = new Map<PolicyName, number>();
  readonly #database: Connection;
  readonly #log: Logger;
  readonly #limits: Record<PolicyName, number>;
  readonly #windowSeconds: number;
  readonly #windows = new Map<string, Window>();
  #forgetAtMs = 0;
  #isFailing = false;

  constructor(database: Connection, log: Logger, { limits, windowSeconds = WINDOW_SECONDS }: LimiterOptions) {
    this.#database = database;
    this.#log = log;
    this.#limits = { ...defaultLimits, ...limits };
    this.#windowSeconds = windowSeconds;
  }

  async count(group: RateGroup, caller: Caller): Promise<Count> {
    const { policy, key } = counterOf(group, caller);
    const window = this.#windowOf(policy, `${policy}:${key}`);
    const allowed = await this.#take(window);
    if (!allowed) this.refusals.set(policy, (this.refusals.get(policy) ?? 0) + 1);
    return {
      ...{ policy, limit: window.limit, windowSeconds: this.#windowSeconds, allowed },
      remaining: window.remaining + window.unused,
      resetSeconds: Math.max(1, Math.ceil((window.endsAtMs - Date.now()) / 1000)),
    };
  }

  #windowOf(policy: PolicyName, key: string): Window {
    const nowMs = Date.now();
    this.#forgetEnded(nowMs);
    const known = this.#windows.get(key);
    if (known !== undefined && (known.endsAtMs > nowMs || known.waiting.length > 0)) return known;
    const limit = this.#limits[policy];
    const window: Window = { key, policy, limit, endsAtMs: 0, unused: 0, remaining: limit, waiting: [] };
    this.#windows.set(key, window);
    return window;
  }

  /** Forgets the windows that have ended, once a window. */
  #forgetEnded(nowMs: number): void {
    if (nowMs < this.#forgetAtMs) return;
    this.#forgetAtMs = nowMs + this.#windowSeconds * 1000;
    for (const [key, { endsAtMs, waiting }] of this.#windows) {
      if (endsAtMs <= nowMs && waiting.length === 0) this.#windows.delete(key);
    }
  }

  #take(window: Window): boolean | Promise<boolean> {
    if (window.unused > 0) {
      window.unused -= 1;
      return true;
    }
    if (window.remaining === 0) return false;
    return new Promise((resolve) => {
      window.waiting.push(resolve);
      if (window.waiting.length === 1) void this.#refill(window);
    });
  }

  /** Takes from the shared counter what the waiting requests need, in one addition for all of them. */
  async #refill(window: Window): Promise<void> {
    const { policy, limit, waiting } = window;
    while (waiting.length > 0) {
      const wanted = Math.max(waiting.length, shareOf(policy, window.remaining));
      const { points, endsAtMs } = await this.#add(window, wanted);
      window.endsAtMs = endsAtMs;
      window.remaining = Math.max(0, limit - points);
      // Of an addition that crossed the limit, only the part below it was there to take.
      let granted = Math.min(wanted, Math.max(0, limit - (points - wanted)));
      const served = waiting.splice(0, window.remaining === 0 ? waiting.length : granted);
      for (const resolve of served) resolve(granted-- > 0);
      window.unused = Math.max(0, granted);
    }
  }

  /**
   * Adds to a caller's counter in the database. While that fails, each process goes on from what it last knew and counts for
   * itself, so that the service goes on serving and passwords stay guarded.
   */
  async #add(window: Window, points: number): Promise<{ points: number; endsAtMs: number }> {
    const nowMs = Date.now();
    const newEndMs = nowMs + this.#windowSeconds * 1000;
    try {
      const counter = await queryOne<{ points: number; endsAtMs: number }>(
        this.#database,
        sql`
        INSERT INTO rate_limits AS known (key, points, expire) VALUES (${window.key}, ${points}, ${newEndMs})
        ON CONFLICT (key) DO UPDATE SET
          points = CASE WHEN known.expire <= ${nowMs} THEN 0 ELSE known.points END + excluded.points,
          expire = CASE WHEN known.expire <= ${nowMs} THEN excluded.expire ELSE known.expire END
        RETURNING points, expire AS "endsAtMs"`,
      );
      this.#isFailing = false;
      return counter;
    } catch (error) {
      if (!this.#isFailing) {
        this.#log.warn({ error }, "rate limits cannot be counted in the database: this process counts for itself");
      }
      this.#isFailing = true;
      const isOver = window.endsAtMs <= nowMs;
      const used = isOver ? 0 : window.limit - window.remaining;
      return { points: used + points, endsAtMs: isOver ? newEndMs : window.endsAtMs };
    }
  }
}

/** Deletes the counters whose window has ended. A caller who comes back gets a new one. */
export async function pruneRateLimits({ database }: { database: Connection }): Promise<void> {
  await database.query(sql`DELETE FROM rate_limits WHERE expire < ${Date.now()}`);
}
