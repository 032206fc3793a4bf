import { setTimeout as sleep } from "node:timers/promises";
import { initTRPC, TRPCError } from "@trpc/server";
import { type TRPC_ERROR_CODE_NUMBER, TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import type { Principal } from "./auth/principal.ts";
import { ApiError, type ErrorBody } from "./errors.ts";
import type { Client } from "./limits/address.ts";
import { type RequestLimits, unlimited } from "./limits/requestLimits.ts";
import {
  type Access,
  errorsOf,
  type Meta,
  pathParametersOf,
  rateGroupOf,
  takesDryRun,
  takesIdempotencyKey,
} from "./meta.ts";
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
  /** Whether the request comes from a page that is neither the service's own nor an app's. */
  readonly isForeign: boolean;
  /**
   * Runs `work` as one of the few calls that a caller may have running at the same time, and throws `unavailable` when too
   * many wait; does not wait without HTTP. If the work needs the caller, it throws `unauthenticated` within a second when
   * the caller's session or key ends during the wait.
   */
  readonly takeTurn: <Result>(work: (pause: Pause) => Promise<Result>, needsCaller: boolean) => Promise<Result>;
  /** Says that the call only waits from now on, and does not count as under way. Returns what ends that. */
  readonly idle: () => () => void;
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
    isForeign: false,
    client: { address: "local", hasLeft: () => false, onLeave: () => () => {} },
    takeTurn: (work) => work(sleep),
    idle: () => () => {},
    sessionCookie: { set: async () => {}, clear: () => {} },
    setHeader: () => {},
  };
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
  meta?.takesOwnTurns || (ctx.principal === null && meta?.hashesPassword)
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

/** Base of procedures that anyone may call where the services are embedded, and that do not exist elsewhere. */
export const embeddedOnly = base
  .meta({ access: "public", isEmbeddedOnly: true })
  .use(({ ctx: { testClock }, next }) => {
    if (testClock === null) throw new ApiError("not_found");
    return next({ ctx: { testClock } });
  })
  .use(refuseUnacceptable)
  .use(takeTurn);

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
