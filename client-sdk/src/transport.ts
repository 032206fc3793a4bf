import type { Answer } from "./call.ts";
import { errorOf, RebidConnectionError, RebidError, RebidTimeoutError } from "./errors.ts";
import { newIdempotencyKey } from "./idempotencyKey.ts";
import type { RebidOptions, RequestOptions, Timing, TryOptions } from "./options.ts";
import { type Method, targetOf } from "./request.ts";
import { isWorthRetrying, retryDelayMs, type Safety } from "./retries.ts";
import { realTiming } from "./timing.ts";

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_RETRIES = 2;

/** One request, with all that its retries share. */
export interface ApiRequest {
  method: Method;
  /** With the names of its parameters in braces. */
  path: string;
  input: object;
  options: TryOptions;
  safety: Safety;
}

/** Sends requests, repeats what may be repeated, and turns refusals into errors. */
export class Transport {
  readonly fetch: typeof fetch;
  readonly timing: Timing;
  readonly #options: RebidOptions;
  readonly #baseUrl: string;

  constructor(options: RebidOptions) {
    const { protocol } = new URL(options.baseUrl);
    if (protocol !== "https:" && protocol !== "http:")
      throw new TypeError("`baseUrl` must begin with https:// or http://.");
    // The platform's own message about a bad header would contain the key.
    if (options.apiKey !== undefined && !/^[!-~]+$/.test(options.apiKey)) {
      throw new TypeError("`apiKey` must be visible ASCII characters, such as rb_live_….");
    }
    this.#options = options;
    this.#baseUrl = options.baseUrl.replace(/\/+$/, "");
    // Browsers refuse a `fetch` that is called as a method.
    this.fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.timing = options.timing ?? realTiming;
  }

  async send({ method, path, input, options, safety }: ApiRequest): Promise<Answer<unknown>> {
    const target = targetOf(method, path, input);
    const headers = this.headers(options);
    if (target.body !== undefined) headers.set("Content-Type", "application/json");
    if (options.dryRun) headers.set("Dry-Run", "true");
    const key = options.idempotencyKey ?? (safety === "keyed" && !options.dryRun ? newIdempotencyKey() : undefined);
    if (key !== undefined) headers.set("Idempotency-Key", key);
    return this.withRetries(`${method} ${path}`, options, safety, () =>
      this.attempt(target.path, { method, headers, body: target.body }, options, answerOf),
    );
  }

  /** The headers of every request. */
  headers({ headers = {} }: RequestOptions): Headers {
    const { apiKey } = this.#options;
    const all = new Headers({ Accept: "application/json", ...this.#options.headers, ...headers });
    if (apiKey !== undefined) all.set("Authorization", `Bearer ${apiKey}`);
    return all;
  }

  /** Runs `work` until it succeeds or a repeat is not worth it. */
  async withRetries<Result>(
    operation: string,
    { signal, maxRetries = this.#options.maxRetries ?? DEFAULT_MAX_RETRIES }: RequestOptions,
    safety: Safety,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { logger } = this.#options;
    for (let retry = 0; ; retry++) {
      signal?.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        const { status, requestId, retryAfter } = error instanceof RebidError ? error : {};
        if (retry >= maxRetries || !isWorthRetrying(error, safety)) {
          logger?.debug("Rebid: a request failed", { operation, status, requestId, attempts: retry + 1 });
          throw error;
        }
        const delayMs = Math.round(retryDelayMs(retry, retryAfter, this.timing.random));
        logger?.warn("Rebid: a request is repeated", { operation, status, requestId, delayMs });
        await this.timing.sleep(delayMs, signal);
      }
    }
  }

  /** Sends one request and reads its response with `read`, both within the time-out. */
  async attempt<Result>(
    path: string,
    init: RequestInit,
    { signal, timeoutMs = this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS }: RequestOptions,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const { credentials } = this.#options;
    const controller = new AbortController();
    const timeout = new RebidTimeoutError(`The service did not answer within ${timeoutMs} ms.`);
    const timer = setTimeout(() => controller.abort(timeout), timeoutMs);
    const stop = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const response = await this.fetch(this.#baseUrl + path, {
        ...init,
        ...(credentials !== undefined && { credentials }),
        // A redirected POST would arrive as a GET, without its body.
        redirect: "manual",
        signal: controller.signal,
      });
      return await read(response);
    } catch (error) {
      if (controller.signal.aborted) throw controller.signal.reason;
      if (error instanceof RebidError) throw error;
      throw new RebidConnectionError("The service cannot be reached, or the connection broke.", { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }
}

/** Reads a response to its end. Throws the error that it is. */
async function answerOf(response: Response): Promise<Answer<unknown>> {
  const { status, headers, ok } = response;
  const text = await response.text();
  const body = parse(text);
  const isExpected = status === 204 || typeof body === "object";
  if (!ok || !isExpected) throw errorOf({ status, headers, body });
  return {
    data: status === 204 ? undefined : body,
    status,
    headers,
    requestId: headers.get("X-Request-Id") ?? undefined,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
