/** From the least to the most: nothing, what is repeated, and every answer and failure. */
export type LogLevel = "off" | "warn" | "debug";

/** Receives what the client does, such as `console`. It never gets a key, a body or a header. */
export interface Logger {
  debug(message: string, details: Record<string, unknown>): void;
  warn(message: string, details: Record<string, unknown>): void;
}

/** Where the client takes its pauses and its chance from. Tests replace it. */
export interface Timing {
  /** Waits, and rejects with the signal's reason when that is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** From 0 to 1, without 1. */
  random(): number;
}

export interface RebidOptions {
  /**
   * Where the service is, such as `https://rebid.example`. A path is kept: `https://example.com/rebid`. By default the
   * environment's `REBID_BASE_URL`.
   */
  baseUrl?: string | undefined;
  /**
   * An API key, `rb_live_…`. By default the environment's `REBID_API_KEY`; with `null`, with `credentials` or in a page,
   * requests without one are anonymous or have the browser's session cookie.
   */
  apiKey?: string | null | undefined;
  /** In a page of another origin: `include` sends the session cookie. */
  credentials?: "include" | "omit" | "same-origin" | undefined;
  /** How long one attempt may take, answer included: by default 60,000. `Infinity` for no limit. */
  timeoutMs?: number | undefined;
  /** How often a failed request is repeated: by default 2. */
  maxRetries?: number | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** By default `console`, if there is a `logLevel`. */
  logger?: Logger | undefined;
  /** By default `debug` with a `logger`, and `off` without one. */
  logLevel?: LogLevel | undefined;
  timing?: Timing | undefined;
}

/** What can be chosen for any call. */
export interface RequestOptions {
  /** Ends the call: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  maxRetries?: number | undefined;
  headers?: Record<string, string> | undefined;
}

/** What can be chosen for a call that changes something. */
export interface ChangeOptions extends RequestOptions {
  /**
   * A repeat with the same key within 24 hours does nothing and gets the first answer. By default, each call has a key of
   * its own, which its retries keep. Choose one to be safe across restarts of your program too.
   */
  idempotencyKey?: string | undefined;
}

/** What can be chosen for a change that can be tried. */
export interface TryOptions extends ChangeOptions {
  /** Everything is done and then undone: the answer or the refusal is the real one, and nothing has changed. */
  dryRun?: boolean | undefined;
}
