import type { Answer } from "./call.ts";
import { errorOf } from "./errorOf.ts";
import { RebidConnectionError, RebidError, RebidTimeoutError, RebidUploadError } from "./errors.ts";
import { chunksOf } from "./eventStream.ts";
import { newIdempotencyKey } from "./idempotencyKey.ts";
import type { Logger, RebidOptions, RequestOptions, Timing, TryOptions } from "./options.ts";
import { userAgent, variable } from "./platform.ts";
import { baseUrlOf, type Method, targetOf } from "./request.ts";
import { isWorthRetrying, retryDelayMs, type Safety } from "./retries.ts";
import { realTiming } from "./timing.ts";
import { Watch } from "./watch.ts";

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
  readonly #apiKey: string | undefined;
  readonly #log: Partial<Logger>;

  constructor(options: RebidOptions) {
    check(options);
    const { credentials, apiKey = credentials === undefined ? variable("REBID_API_KEY") : undefined } = options;
    const baseUrl = options.baseUrl ?? variable("REBID_BASE_URL");
    if (baseUrl === undefined) throw new TypeError("Pass `baseUrl`, or set REBID_BASE_URL.");
    // The platform's own message about a bad header would contain the key.
    if (typeof apiKey === "string" && !/^[!-~]+$/.test(apiKey)) {
      throw new TypeError("`apiKey` must be visible ASCII characters, such as rb_live_….");
    }
    this.#options = options;
    this.#baseUrl = baseUrlOf(baseUrl);
    this.#apiKey = apiKey ?? undefined;
    this.#log = logOf(options);
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
    const operation = `${method} ${path}`;
    const startedAt = Date.now();
    const answer = await this.withRetries(operation, options, safety, () =>
      this.attempt(...this.#own(target.path, { method, headers, body: target.body }), options, answerOf),
    );
    const { status, requestId } = answer;
    this.#log.debug?.("Rebid: a request succeeded", {
      operation,
      status,
      requestId,
      durationMs: Date.now() - startedAt,
    });
    return answer;
  }

  /** The headers of every request. */
  headers({ headers = {} }: RequestOptions): Headers {
    const all = new Headers({ Accept: "application/json" });
    if (userAgent !== undefined) all.set("User-Agent", userAgent);
    for (const given of [this.#options.headers ?? {}, headers])
      for (const [name, value] of Object.entries(given)) all.set(name, value);
    if (this.#apiKey !== undefined) all.set("Authorization", `Bearer ${this.#apiKey}`);
    return all;
  }

  /** Runs `work` until it succeeds or a repeat is not worth it. */
  async withRetries<Result>(
    operation: string,
    options: RequestOptions,
    safety: Safety,
    work: () => Promise<Result>,
  ): Promise<Result> {
    check(options);
    const { signal, maxRetries = this.#options.maxRetries ?? DEFAULT_MAX_RETRIES } = options;
    for (let retry = 0; ; retry++) {
      signal?.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        const { status, requestId, retryAfter } = error instanceof RebidError ? error : {};
        if (retry >= maxRetries || !isWorthRetrying(error, safety)) {
          this.#log.debug?.("Rebid: a request failed", { operation, status, requestId, attempts: retry + 1 });
          throw error;
        }
        const delayMs = Math.round(retryDelayMs(retry, retryAfter, this.timing.random));
        this.#log.warn?.("Rebid: a request is repeated", { operation, status, requestId, delayMs });
        await this.timing.sleep(delayMs, signal);
      }
    }
  }

  /** Sends one request and reads its response with `read`, both within the time-out. */
  async attempt<Result>(
    url: string,
    init: RequestInit,
    { signal, timeoutMs = this.timeoutMs }: RequestOptions,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const watch = new Watch(signal);
    watch.within(timeoutMs, () => timeout(timeoutMs));
    try {
      return await read(await this.#fetch(url, init, watch));
    } catch (error) {
      throw failureOf(error, watch);
    } finally {
      watch.end();
    }
  }

  /** Opens a stream, and returns what arrives. It fails when nothing arrives for `idleMs`. */
  async open(path: string, options: RequestOptions, idleMs: number): Promise<AsyncIterable<Uint8Array>> {
    const { signal, timeoutMs = this.timeoutMs } = options;
    const watch = new Watch(signal);
    watch.within(timeoutMs, () => timeout(timeoutMs));
    try {
      const response = await this.#fetch(...this.#own(path, { headers: this.headers(options) }), watch);
      if (!response.ok || response.body === null) throw await refusalOf(response);
      return readBody(response.body, watch, idleMs);
    } catch (error) {
      watch.end();
      throw failureOf(error, watch);
    }
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  /** The address of a path of the service, and what every request to it has. */
  #own(path: string, init: RequestInit): [url: string, init: RequestInit] {
    const { credentials } = this.#options;
    return [this.#baseUrl + path, { ...init, ...(credentials !== undefined && { credentials }) }];
  }

  #fetch(url: string, init: RequestInit, { signal }: Watch): Promise<Response> {
    // A redirected POST would arrive as a GET, without its body.
    return this.fetch(url, { ...init, redirect: "manual", signal });
  }
}

/** With NaN, such as from a variable that is not set, a request would end at once or be repeated for ever. */
function check({ timeoutMs = DEFAULT_TIMEOUT_MS, maxRetries = DEFAULT_MAX_RETRIES }: RequestOptions): void {
  if (!(timeoutMs > 0)) throw new TypeError("`timeoutMs` must be a number greater than 0.");
  if (!(maxRetries >= 0)) throw new TypeError("`maxRetries` must be 0 or a greater number.");
}

/** The methods of the logger that the level lets through. */
function logOf({ logger, logLevel = logger === undefined ? "off" : "debug" }: RebidOptions): Partial<Logger> {
  const target = logger ?? console;
  return {
    ...(logLevel !== "off" && { warn: (...line) => target.warn(...line) }),
    ...(logLevel === "debug" && { debug: (...line) => target.debug(...line) }),
  };
}

const timeout = (milliseconds: number) => new RebidTimeoutError(`No answer arrived within ${milliseconds} ms.`);

/** What a failed request is rejected with: the reason that it was ended for, or that no answer arrived. */
function failureOf(error: unknown, { signal }: Watch): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof RebidError || error instanceof RebidUploadError || error instanceof RebidConnectionError)
    return error;
  return new RebidConnectionError("The service cannot be reached, or the connection broke.", { cause: error });
}

async function* readBody(body: ReadableStream<Uint8Array>, watch: Watch, idleMs: number): AsyncGenerator<Uint8Array> {
  const listen = () => watch.within(idleMs, () => new RebidTimeoutError(`Nothing arrived for ${idleMs} ms.`));
  listen();
  try {
    for await (const chunk of chunksOf(body)) {
      // Whoever takes long over an event is not a dead connection.
      watch.pause();
      yield chunk;
      listen();
    }
  } catch (error) {
    throw failureOf(error, watch);
  } finally {
    watch.end();
  }
}

/** Reads a response to its end. Throws the error that it is. */
async function answerOf(response: Response): Promise<Answer<unknown>> {
  const { status, headers, ok } = response;
  if (!ok) throw await refusalOf(response);
  const requestId = headers.get("X-Request-Id") ?? undefined;
  if (status === 204) return { data: undefined, status, headers, requestId };
  const data = parse(await response.text());
  // A page of something between the service and us.
  if (typeof data !== "object") throw errorOf({ status, headers, body: data });
  return { data, status, headers, requestId };
}

async function refusalOf(response: Response): Promise<RebidError> {
  const { status, headers } = response;
  return errorOf({ status, headers, body: parse(await response.text()) });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
