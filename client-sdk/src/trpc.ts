/**
 * The typed tRPC client itself, for front ends with the session cookie: `createRebidClient` for calls, and the type
 * `RebidRouter` for TanStack Query. Needs `@trpc/client` and `@trpc/server`, in the same version.
 */
import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  type Operation,
  retryLink,
  splitLink,
  type TRPCClient,
  TRPCClientError,
  type TRPCLink,
} from "@trpc/client";
import type { RebidRouter } from "./generated/router.ts";
import type { ApiError } from "./generated/types.ts";
import { newIdempotencyKey } from "./idempotencyKey.ts";
import { retryDelayMs } from "./retries.ts";

export type { RebidRouter } from "./generated/router.ts";

/** The client: `client.tasks.list.query({})`, `client.tasks.create.mutate({ … })`, `client.events.stream.subscribe(…)`. */
export type RebidTrpcClient = TRPCClient<RebidRouter>;

export interface RebidTrpcOptions {
  /** Where the service is. By default the page's own origin. */
  baseUrl?: string | undefined;
  /** Whether requests have the session cookie: by default `include`, in pages of other origins too. */
  credentials?: "include" | "omit" | "same-origin" | undefined;
  /** Sent with every request, except those of streams in a browser, which can have no headers. */
  headers?: Record<string, string> | undefined;
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** How often a change is repeated, with the same `Idempotency-Key`, when no answer arrives: by default 2. */
  maxRetries?: number | undefined;
}

/** The service answers at most this many calls in one request. */
const MAX_BATCH_SIZE = 20;
/** Below what servers and proxies accept as an address. */
const MAX_URL_LENGTH = 6_000;
const DEFAULT_MAX_RETRIES = 2;

/** Returns the client. For TanStack Query, pass it on as `trpcClient` or `client`. */
export function createRebidClient(options: RebidTrpcOptions = {}): RebidTrpcClient {
  return createTRPCClient<RebidRouter>({ links: rebidLinks(options) });
}

/**
 * Returns the links of `createRebidClient`, to put others before them. Queries that are made together are sent together.
 * Each change is a request of its own with an `Idempotency-Key`, which its repeats keep; `context.idempotencyKey` of a call
 * replaces it. Queries are not repeated: TanStack Query does that.
 */
export function rebidLinks({
  baseUrl = "",
  credentials = "include",
  headers = {},
  maxRetries = DEFAULT_MAX_RETRIES,
  ...options
}: RebidTrpcOptions = {}): TRPCLink<RebidRouter>[] {
  const url = `${baseUrl.replace(/\/+$/, "")}/trpc`;
  const fetchIt = options.fetch ?? fetch;
  // Its type is that of every platform, of which credentials are not a part.
  const send: typeof fetch = (input, init) => fetchIt(input, { ...init, credentials });
  return [
    prepare,
    splitLink({
      condition: ({ type }) => type === "mutation",
      true: [
        retryLink({
          retry: ({ error, attempts }) => attempts <= maxRetries && isWorthRepeating(error),
          retryDelayMs: (attempts) => retryDelayMs(attempts - 1, undefined, Math.random),
        }),
        httpLink({
          url,
          fetch: send,
          headers: ({ op }) => ({ ...headers, "Idempotency-Key": keyOf(op) }),
        }),
      ],
      false: splitLink({
        condition: ({ type }) => type === "subscription",
        true: httpSubscriptionLink({ url, eventSourceOptions: { withCredentials: credentials === "include" } }),
        false: httpBatchLink({ url, fetch: send, headers, maxItems: MAX_BATCH_SIZE, maxURLLength: MAX_URL_LENGTH }),
      }),
    }),
  ];
}

/** The service's error in what a call was rejected with; undefined if there was no answer, or it was not the service's. */
export function errorBodyOf(error: unknown): ApiError | undefined {
  if (!(error instanceof TRPCClientError)) return undefined;
  const { data } = error as TRPCClientError<RebidRouter>; // the router's `errorFormatter` makes no other
  return typeof data?.error === "string" ? data : undefined;
}

/** Gives changes a key, and takes out of queries what the service would refuse as an unknown field. */
const prepare: TRPCLink<RebidRouter> =
  () =>
  ({ op, next }) => {
    if (op.type === "mutation") return next({ ...op, context: { ...op.context, idempotencyKey: keyOf(op) } });
    return next({ ...op, input: withoutDirection(op.input) });
  };

/** An infinite query of TanStack Query says in which direction it goes on; our lists have only one. */
function withoutDirection(input: unknown): unknown {
  if (typeof input !== "object" || input === null || !("direction" in input)) return input;
  const { direction: _, ...rest } = input;
  return rest;
}

function keyOf({ context }: Operation): string {
  const key: unknown = context.idempotencyKey;
  return typeof key === "string" ? key : newIdempotencyKey();
}

/** Without an answer, or when the service is busy or failed. With its key, a change that was made is not made again. */
function isWorthRepeating(error: TRPCClientError<RebidRouter>): boolean {
  if (error.name === "AbortError" || error.cause?.name === "AbortError") return false;
  const body = errorBodyOf(error);
  return body === undefined || ["internal_error", "processor_unavailable", "unavailable"].includes(body.error);
}
