import { setTimeout as sleep } from "node:timers/promises";
import { getTRPCErrorFromUnknown, initTRPC, TRPCError } from "@trpc/server";
import { type TRPC_ERROR_CODE_NUMBER, TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { askOwner, awaitDecision } from "./auth/approvals/ask.ts";
import type { Principal } from "./auth/principal.ts";
import { ApiError, type ErrorBody } from "./errors.ts";
import type { Client } from "./limits/address.ts";
import { type RequestLimits, unlimited } from "./limits/limiter.ts";
import {
  type Access,
  errorsOf,
  type Meta,
  type ProcedureType,
  pathParametersOf,
  rateGroupOf,
  takesDryRun,
  takesIdempotencyKey,
} from "./meta.ts";
import { type Changes, openChanges } from "./repeats/changes.ts";
import { assertDryRun, assertIdempotencyKey, isDryRun } from "./repeats/headers.ts";
import { currentRequestId } from "./requestId.ts";
import { findUnacceptable } from "./schemas/inputBounds.ts";
import type { Scope } from "./schemas/scope.ts";
import type { Services } from "./services.ts";
import { traced } from "./tracing.ts";
import { rpcCodeOf, toApiError } from "./translateErrors.ts";
import { type CallTurns, type Pause, unlimitedTurns } from "./turns.ts";

/** What every procedure receives. */
export interface Context extends Services {
  readonly requestId: string;
  readonly principal: Principal | null;
  /** Number of calls in the request: more than 1 in a tRPC batch. */
  readonly calls?: number;
  readonly limits: RequestLimits;
  readonly client: Client;
  /** Whether the request comes from a page that is neither the service's own nor an app's. */
  readonly isForeignPage: boolean;
  /** What the calls of the request wait for. */
  readonly turns: CallTurns;
  /**
   * Returns a signal that aborts when `client.left` does, or within a second of the end of the caller's session or key: then
   * with the reason `unauthenticated`.
   */
  readonly callerLeft: () => AbortSignal;
  /** Sets or clears the browser's session cookie; does nothing without HTTP. */
  readonly sessionCookie: { set(sessionId: string): Promise<void>; clear(): void };
  /** The header `Idempotency-Key` as it was sent. */
  readonly idempotencyKey?: string;
  /** The header `Dry-Run` as it was sent. */
  readonly dryRun?: string;
  /** How what a person has approved is done: in the transaction of the decision. */
  readonly decision?: Changes;
  /** In a dry run: called in place of a refusal when the owner of the API key would have to approve it. */
  readonly onApprovalNeeded?: () => void;
  /** Sets a header of the response; does nothing without HTTP. */
  setHeader(name: string, value: string): void;
}

/** What every procedure for a known caller receives. */
export type CallerContext = Context &
  Changes & {
    readonly principal: Principal;
    readonly userId: string;
    /** Waits without holding the caller's turn. */
    readonly pause: Pause;
  };

/** Creates a context of no request: for tests, commands and answers that are shared. */
export function buildContext(
  services: Services,
  principal: Principal | null,
  options: { requestId?: string; idempotencyKey?: string; dryRun?: string } = {},
): Context {
  const left = new AbortController().signal;
  return {
    ...services,
    requestId: crypto.randomUUID(),
    ...options,
    principal,
    limits: unlimited,
    isForeignPage: false,
    client: { address: "local", userAgent: null, left },
    callerLeft: () => left,
    turns: unlimitedTurns,
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

/** A call that has reached its procedure, whichever door it came through. */
interface Call {
  readonly ctx: Context;
  readonly meta: Meta;
  readonly path: string;
  readonly type: ProcedureType;
  readonly getRawInput: () => Promise<unknown>;
}

/**
 * Base of every procedure, and all that a call passes, whichever door it came through. It is one middleware, since tRPC copies
 * the call several times for each, and the context for each that adds to it: as eight, they took 130 µs of CPU time a
 * call, a tenth of `GET /wallet` (measured).
 * @param admit returns who may make the call, or throws why not
 * @param extend returns what is added to the context when the call has its turn
 */
function guarded<Caller, Added extends object>(
  access: Access,
  admit: (call: Call) => Caller,
  extend: (call: Call, caller: Caller, pause: Pause) => Added,
) {
  return t.procedure.meta({ access }).use(({ ctx, meta = {}, path, type, getRawInput, next }) =>
    traced(path, async () => {
      // 1. Who calls: the door has looked it up, in `ctx.principal`.
      const call: Call = { ctx, meta, path, type, getRawInput };
      try {
        // 2. Not too often. The header is in every answer to a dry run, refusals included.
        if (takesDryRun(meta) && isDryRun(ctx)) ctx.setHeader("Dry-Run", "true");
        await ctx.limits.count({ group: rateGroupOf(meta, type), hashesPassword: meta.hashesPassword });
        // 3. May they.
        const caller = admit(call);
        if (type === "mutation") assertDryRun(ctx, takesDryRun(meta));
        // 4. The input is within bounds. Its schema comes with the procedure.
        const issues = findUnacceptable(await getRawInput());
        if (issues.length > 0) throw new ApiError("invalid_input", { issues });
        // 5. The call's turn, and 6. the procedure.
        const run = (pause: Pause) => next({ ctx: extend(call, caller, pause) });
        const left = access === "public" ? () => ctx.client.left : ctx.callerLeft;
        const result = await (takesTurn(call) ? ctx.turns.run({ onlyReads: type === "query", left }, run) : run(sleep));
        if (result.ok) return result;
        throw result.error;
      } catch (thrown) {
        // 7. An error from the catalogue.
        return fail(call, thrown);
      }
    }),
  );
}

/** An anonymous caller's signups, logins and password resets wait for password hashing instead: auth/passwords.ts has their turns. */
function takesTurn({ ctx, meta }: Call): boolean {
  return !meta.takesOwnTurns && !(ctx.principal === null && meta.hashesPassword);
}

/** Turns a failure into an error from the catalogue. Internal causes go to the log only, with the request's id. */
function fail({ ctx, meta, path }: Call, thrown: unknown): never {
  const failure = getTRPCErrorFromUnknown(thrown);
  const error = toApiError(failure, pathParametersOf(meta));
  if (error.isOverload) ctx.log.warn({ requestId: ctx.requestId, procedure: path }, "too many calls: one was refused");
  else if (error.status >= 500)
    ctx.log.error({ requestId: ctx.requestId, procedure: path, error: error.cause ?? failure.cause }, error.code);
  // A login records its own failure, with the account that was tried.
  const isDenied = (error.status === 401 || error.status === 403) && error.code !== "invalid_credentials";
  if (isDenied) ctx.securityLog.refuse(ctx, "access.denied", { code: error.code, procedure: path });
  if (!errorsOf(meta).includes(error.code)) {
    ctx.log.error(
      { requestId: ctx.requestId, procedure: path, code: error.code },
      "undocumented error code: add it to the procedure's `errors`",
    );
  }
  throw new TRPCError({ code: rpcCodeOf(error.code), message: error.message, cause: error });
}

/** `admit` also says who the caller is, for the type of `ctx.principal`. */
function authorized<Caller extends Principal>(
  access: Access,
  admit: (principal: Principal, settings: Services["settings"]) => Caller,
) {
  return guarded(
    access,
    ({ ctx, meta }) => {
      if (ctx.principal === null) throw new ApiError("unauthenticated");
      const principal = admit(ctx.principal, ctx.settings);
      const idempotencyKey = takesIdempotencyKey(meta) ? ctx.idempotencyKey : undefined;
      if (idempotencyKey !== undefined) assertIdempotencyKey(idempotencyKey, ctx.calls);
      return { principal, userId: principal.userId, idempotencyKey };
    },
    ({ ctx, meta, path, getRawInput }, caller, pause) => ({
      ...{ ...caller, pause },
      ...(ctx.decision ??
        openChanges({
          ...{
            database: ctx.database,
            log: ctx.log,
            userId: caller.userId,
            keyId: caller.principal.kind === "apiKey" ? caller.principal.keyId : null,
            idempotencyKey: caller.idempotencyKey,
            pause,
          },
          isDryRun: takesDryRun(meta) && isDryRun(ctx),
          operation: path,
          readInput: getRawInput,
          showsSecret: meta.showsSecret ?? false,
          markReplayed: () => ctx.setHeader("Idempotent-Replayed", "true"),
          hasLeft: () => ctx.client.left.aborted,
          askOwner: (question) => askOwner(ctx, caller.principal, question),
          awaitDecision: (approvalId) => awaitDecision(ctx, caller.principal, approvalId),
        })),
    }),
  );
}

/** Base of procedures that anyone may call; `ctx.principal` is null for anonymous callers. */
export const anyone = guarded(
  "public",
  () => {},
  (_call, _caller, pause) => ({ pause }),
);

/** Base of procedures that anyone may call where the services are embedded, and that do not exist elsewhere. */
export const embeddedOnly = guarded(
  "public",
  ({ ctx: { testClock } }) => {
    if (testClock === null) throw new ApiError("not_found");
    return { testClock };
  },
  (_call, { testClock }, pause) => ({ pause, testClock }),
).meta({ isEmbeddedOnly: true });

/** Base of procedures for any authenticated caller, whatever the scopes. */
export const signedIn = authorized("any", (principal) => principal);

/** Base of procedures for browser sessions; API keys get `forbidden`. */
export const sessionOnly = authorized("session", requireSession);

/** Base of procedures for a moderator's session, which must have proved a second factor if MODERATOR_TOTP requires it. */
export const moderator = authorized("moderator", (principal, settings) => {
  const session = requireSession(principal);
  if (!session.moderator) throw new ApiError("forbidden");
  if (settings.moderatorTotp && !session.secondFactor) {
    throw new ApiError("forbidden", {
      message:
        "Moderators need a second factor here. Set one up with POST /auth/totp and POST /auth/totp/confirm; if you have one, sign in again with `code`.",
    });
  }
  return session;
});

/** Base of procedures for a session, or for an API key with this scope. */
export function scoped(scope: Scope) {
  return authorized({ scope }, (principal) => {
    if (principal.kind === "apiKey" && !principal.scopes.includes(scope)) {
      throw new ApiError("missing_scope", { message: `The API key lacks the scope ${scope}.`, requiredScope: scope });
    }
    return principal;
  });
}

function requireSession(principal: Principal): Principal & { kind: "session" } {
  if (principal.kind === "session") return principal;
  throw new ApiError("forbidden", {
    message: "API keys are not allowed to do this. Sign in with a browser session.",
  });
}
