import { setTimeout as sleep } from "node:timers/promises";
import { initTRPC, TRPCError } from "@trpc/server";
import { type TRPC_ERROR_CODE_NUMBER, TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import type { Principal } from "./auth/principal.ts";
import { ApiError, type ErrorBody, type ErrorCode } from "./errors.ts";
import type { RateGroup } from "./limits/policies.ts";
import { type RequestLimits, unlimited } from "./limits/requestLimits.ts";
import { type Changes, openChanges } from "./repeats/changes.ts";
import { assertDryRun, isDryRun } from "./repeats/dryRun.ts";
import { assertIdempotencyKey } from "./repeats/idempotencyKey.ts";
import { currentRequestId } from "./requestId.ts";
import { findUnacceptable } from "./schemas/inputBounds.ts";
import type { Scope } from "./schemas/scope.ts";
import type { Services } from "./services.ts";
import { rpcCodeOf, toApiError } from "./translateErrors.ts";

/** What every procedure receives. */
export interface Context extends Services {
  readonly requestId: string;
  readonly principal: Principal | null;
  /** Number of calls in the request: more than 1 in a tRPC batch. */
  readonly calls?: number;
  readonly limits: RequestLimits;
  readonly client: Client;
  /**
   * Runs `work` as one of the few calls that a caller may have running at the same time, and throws `unavailable` when too
   * many wait; does not wait without HTTP. If the work needs the caller, it throws `unauthenticated` within a second when
   * the caller's session or key ends during the wait.
   */
  readonly takeTurn: <Result>(work: (pause: Pause) => Promise<Result>, needsCaller: boolean) => Promise<Result>;
  /** Sets or clears the browser's session cookie; does nothing without HTTP. */
  readonly sessionCookie: { set(sessionId: string): Promise<void>; clear(): void };
  /** The header `Idempotency-Key` as it was sent. */
  readonly idempotencyKey?: string;
  /** The header `Dry-Run` as it was sent. */
  readonly dryRun?: string;
  /** Sets a header of the response; does nothing without HTTP. */
  setHeader(name: string, value: string): void;
}

/** What every procedure for a known caller receives. */
export type CallerContext = Context & Changes & { readonly principal: Principal; readonly userId: string };

/** Where the request comes from. */
export interface Client {
  /** As `clientAddress` returns it. */
  readonly address: string;
  /** True once the client has closed its connection, so that nobody waits for the response. */
  hasLeft(): boolean;
}

/** Waits this long without the turn, so that the caller's other calls go on. */
export type Pause = (milliseconds: number) => Promise<void>;

/** Creates a context without HTTP, for tests and commands. */
export function buildContext(
  services: Services,
  principal: Principal | null,
  options: { requestId?: string; idempotencyKey?: string; dryRun?: string } = {},
): Context {
  return {
    ...services,
    requestId: crypto.randomUUID(),
    ...options,
    principal,
    limits: unlimited,
    client: { address: "local", hasLeft: () => false },
    takeTurn: (work) => work(sleep),
    sessionCookie: { set: async () => {}, clear: () => {} },
    setHeader: () => {},
  };
}

export type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";

/** Who may call a procedure. `any` accepts any valid authentication; `session` refuses API keys. */
export type Access = "public" | "any" | "session" | "moderator" | { scope: Scope };

/** What a procedure declares: its REST operation, its documentation, who may call it, and the errors specific to it. */
export interface Meta {
  rest?: {
    method: HttpMethod;
    path: `/${string}`;
    status?: 200 | 201 | 202 | 204;
    /** The input of a DELETE comes in a JSON body, because a query with secrets would end up in logs. */
    takesBody?: true;
  };
  summary?: string;
  description?: string;
  errors?: readonly ErrorCode[];
  access?: Access;
  /** The response has a secret that is shown only once, so a repeat is refused instead of answered. */
  showsSecret?: boolean;
  /** The operation changes something, but nothing that `Idempotency-Key` could protect. */
  ignoresIdempotencyKey?: boolean;
  /** The operation asks the outside world or gives out an address, which no rollback undoes: `Dry-Run` is refused. */
  hasNoDryRun?: boolean;
  /** What the rate limits count a call as, where that does not follow from its access and type. */
  rateGroup?: RateGroup;
  /** True if a call hashes a password, which at most one call of a batch may do. */
  hashesPassword?: boolean;
}

/** What tRPC clients see as `error`; `data` has the fields of the REST error body. */
interface ErrorShape {
  message: string;
  code: TRPC_ERROR_CODE_NUMBER;
  data: ErrorBody;
}

/** Returns the tRPC form of an error of the current request, which has `calls` calls. */
export function errorShape(error: ApiError, calls?: number): ErrorShape {
  return {
    message: error.message,
    code: TRPC_ERROR_CODES_BY_KEY[rpcCodeOf(error.code)],
    data: error.toBody(currentRequestId(), calls),
  };
}

const t = initTRPC
  .context<Context>()
  .meta<Meta>()
  .create({
    isDev: false,
    errorFormatter: ({ error, ctx }) => errorShape(toApiError(error), ctx?.calls),
  });

export const { router } = t;

/** Returns the names in a REST path's braces. */
export function pathParametersOf(meta: Meta | undefined): string[] {
  return Array.from(meta?.rest?.path.matchAll(/\{(\w+)\}/g) ?? [], ([, name]) => name ?? "");
}

/** Returns every error code that a procedure can return: its own, and those that follow from its access and input. */
export function errorsOf(meta: Meta): ErrorCode[] {
  const { access = "public", rest, errors = [] } = meta;
  const codes = new Set<ErrorCode>(["invalid_input", ...errors, "rate_limited", "internal_error", "unavailable"]);
  if (access !== "public") codes.add("unauthenticated");
  // A state-changing request with the session cookie is refused when it comes from another site.
  if (rest?.method !== "GET" || access === "session" || access === "moderator") codes.add("forbidden");
  if (typeof access === "object") codes.add("missing_scope");
  if (takesIdempotencyKey(meta)) codes.add("idempotency_conflict");
  if (takesBody(rest)) {
    codes.add("payload_too_large");
    codes.add("unsupported_media_type");
  }
  return [...codes];
}

/** Whether an operation's input comes in a JSON body. Otherwise it comes in the query. */
export function takesBody(rest: Meta["rest"]): boolean {
  return rest?.method === "POST" || rest?.method === "PATCH" || rest?.takesBody === true;
}

/** Whether the operation can be repeated with an `Idempotency-Key`: every one that changes something for a known caller. */
export function takesIdempotencyKey({ access = "public", rest, ignoresIdempotencyKey = false }: Meta): boolean {
  return access !== "public" && rest?.method !== "GET" && !ignoresIdempotencyKey;
}

/** Whether the operation can be tried with `Dry-Run`; those of accounts and sessions cannot. */
export function takesDryRun(meta: Meta): boolean {
  return takesIdempotencyKey(meta) && !meta.hasNoDryRun && !meta.rest?.path.startsWith("/auth/");
}

/** Turns every failure into an error from the catalogue. Internal causes go to the log only, with the request's id. */
const translateFailures = t.middleware(async ({ ctx, meta, path, next }) => {
  const result = await next();
  if (result.ok) return result;
  const { cause } = result.error;
  const error = toApiError(result.error, pathParametersOf(meta));
  const isOverload = error.code === "unavailable" && error.cause === undefined; // our own refusal, not a failure
  if (isOverload) ctx.log.warn({ requestId: ctx.requestId, procedure: path }, "too many calls: one was refused");
  else if (error.status >= 500)
    ctx.log.error({ requestId: ctx.requestId, procedure: path, error: error.cause ?? cause }, error.code);
  // A login records its own failure, with the account that was tried.
  const isDenied = (error.status === 401 || error.status === 403) && error.code !== "invalid_credentials";
  if (isDenied) ctx.securityLog.refuse(ctx, "access.denied", { code: error.code, procedure: path });
  if (!errorsOf(meta ?? {}).includes(error.code)) {
    ctx.log.error(
      { requestId: ctx.requestId, procedure: path, code: error.code },
      "undocumented error code: add it to the procedure's `errors`",
    );
  }
  throw new TRPCError({ code: rpcCodeOf(error.code), message: error.message, cause: error });
});

/** Returns what the rate limits count a call as. Source: docs/contract.md "Limits". */
export function rateGroupOf({ rateGroup, access }: Meta, type: "query" | "mutation" | "subscription"): RateGroup {
  if (rateGroup !== undefined) return rateGroup;
  if (type !== "mutation") return "read";
  return typeof access === "object" && access.scope === "task:write" ? "taskWrite" : "write";
}

/** Counts every call, whichever door it comes through, before its input is read and before it does anything. */
const limitRate = t.middleware(async ({ ctx, meta = {}, type, next }) => {
  await ctx.limits.count({ group: rateGroupOf(meta, type), hashesPassword: meta.hashesPassword });
  return next();
});

/** Says that nothing is changed in every answer to a dry run, refusals included. */
const announceDryRun = t.middleware(({ ctx, meta = {}, next }) => {
  if (takesDryRun(meta) && isDryRun(ctx)) ctx.setHeader("Dry-Run", "true");
  return next();
});

const base = t.procedure.use(translateFailures).use(announceDryRun).use(limitRate);

const refuseUnacceptable = t.middleware(async ({ ctx, meta = {}, type, next, getRawInput }) => {
  if (type === "mutation") assertDryRun(ctx, takesDryRun(meta));
  const issues = findUnacceptable(await getRawInput());
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
  return next();
});

/**
 * Lets a caller's excess calls wait outside the database's connection pool. An anonymous caller's signups, logins and
 * password resets wait for password hashing instead: the queue in auth/passwords.ts is theirs.
 */
const takeTurn = t.middleware(({ ctx, meta, next }) =>
  ctx.principal === null && meta?.hashesPassword
    ? next({ ctx: { pause: sleep } })
    : ctx.takeTurn((pause) => next({ ctx: { pause } }), meta?.access !== "public"),
);

type Requirement = (principal: Principal, settings: Services["settings"]) => void;

function authorized(access: Access, require: Requirement = () => {}) {
  return base
    .meta({ access })
    .use(({ ctx, meta = {}, next }) => {
      const { principal, idempotencyKey } = ctx;
      if (principal === null) throw new ApiError("unauthenticated");
      require(principal, ctx.settings);
      const key = takesIdempotencyKey(meta) ? idempotencyKey : undefined;
      if (key !== undefined) assertIdempotencyKey(key, ctx.calls);
      return next({ ctx: { principal, userId: principal.userId, idempotencyKey: key } });
    })
    .use(refuseUnacceptable)
    .use(takeTurn)
    .use(({ ctx, meta = {}, path, getRawInput, next }) => {
      const { database, log, userId, idempotencyKey, client, pause } = ctx;
      const changes = openChanges({
        ...{ database, log, userId, idempotencyKey, pause },
        isDryRun: takesDryRun(meta) && isDryRun(ctx),
        operation: path,
        readInput: getRawInput,
        showsSecret: meta.showsSecret ?? false,
        markReplayed: () => ctx.setHeader("Idempotent-Replayed", "true"),
        hasLeft: () => client.hasLeft(),
      });
      return next({ ctx: changes });
    });
}

type Session = Principal & { kind: "session" };

function assertSession(principal: Principal): asserts principal is Session {
  if (principal.kind === "session") return;
  throw new ApiError("forbidden", {
    message: "API keys are not allowed to do this. Sign in with a browser session.",
  });
}

/** Base of procedures that anyone may call; `ctx.principal` is null for anonymous callers. */
export const open = base.meta({ access: "public" }).use(refuseUnacceptable).use(takeTurn);

/** Base of procedures for any authenticated caller, whatever the scopes. */
export const signedIn = authorized("any");

/** Base of procedures for browser sessions; API keys get `forbidden`. */
export const sessionOnly = authorized("session", assertSession).use(({ ctx: { principal }, next }) => {
  assertSession(principal);
  return next({ ctx: { principal } });
});

/** Base of procedures for a moderator's session, which must have proved a second factor if MODERATOR_TOTP requires it. */
export const moderator = authorized("moderator", (principal, settings) => {
  assertSession(principal);
  if (!principal.moderator) throw new ApiError("forbidden");
  if (settings.moderatorTotp && !principal.secondFactor) {
    throw new ApiError("forbidden", {
      message:
        "Moderators need a second factor here. Set one up with POST /auth/totp and POST /auth/totp/confirm; if you have one, sign in again with `code`.",
    });
  }
});

/** Base of procedures for a session, or for an API key with this scope. */
export function scoped(scope: Scope) {
  return authorized({ scope }, (principal) => {
    if (principal.kind === "apiKey" && !principal.scopes.includes(scope)) {
      throw new ApiError("missing_scope", { message: `The API key lacks the scope ${scope}.`, requiredScope: scope });
    }
  });
}
