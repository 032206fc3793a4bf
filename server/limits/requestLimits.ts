import { ApiError } from "../errors.ts";
import type { Count, RateLimiter } from "./limiter.ts";
import type { Caller, RateGroup } from "./policies.ts";

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

/** For calls without HTTP. */
export const unlimited: RequestLimits = { counted: true, count: async () => {} };

/**
 * Returns the limits of one request. Without a limiter, only the rule about passwords holds. `setHeaders` is called with
 * the headers of the bucket that is closest to its limit.
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
