import { TRPCError } from "@trpc/server";
import type { ErrorRequestHandler, Request, Response } from "express";
import { isForeignPage, takesKeysOnly } from "../auth/origins.ts";
import { authenticate, clearSessionCookie, isCrossSite, type Principal, setSessionCookie } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import { type Client, clientAddress } from "../limits/address.ts";
import { limitsOf, type RequestLimits } from "../limits/limiter.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import type { Context } from "../trpc.ts";
import { turnsFor } from "./overload.ts";
import { sendError } from "./sendError.ts";

/**
 * Answers a request, whichever door it came through: REST, typed RPC, or MCP. A door has read the input. It says how to run
 * the procedure, and how its output looks. Whatever is thrown goes to `answerFailure`.
 */
export async function answer<Output>(
  { services, request, response }: { services: Services; request: Request; response: Response },
  run: (context: Context) => Promise<Output>,
  send: (output: Output) => void,
): Promise<void> {
  // 1. Who calls.
  const context = await createContext(services, request, response);
  // 2. The procedure. What every call passes before, such as the limits, is in trpc.ts.
  const output = await run(context);
  // 3. What reached no procedure counts too, such as a message of MCP's own.
  if (!context.limits.counted) await context.limits.count({ group: "read" });
  // 4. The output.
  send(output);
}

/** Turns whatever was thrown into a documented error, so that no client ever sees an HTML page or a stack trace. */
export function answerFailure(services: Services): ErrorRequestHandler {
  return async (thrown: unknown, request, response, _next) => {
    // 5. An error from the catalogue, which is logged once: those of procedures have been, with the procedure's name.
    const error = toApiError(thrown);
    const isLogged = thrown instanceof TRPCError && thrown.cause instanceof ApiError;
    if (error.status >= 500 && !isLogged) {
      const requestId = response.get("X-Request-Id");
      if (error.isOverload) services.log.warn({ requestId }, "too many calls: one was refused");
      else services.log.error({ requestId, error: thrown }, error.code);
    }
    if (response.headersSent) return response.destroy();
    // 6. It counts if no procedure has counted it. Our own failures do not: the caller may repeat what was not their fault.
    const refusal = error.status < 500 ? await countUnserved(services, request, response) : null;
    sendError(response, refusal ?? error);
  };
}

/** Sends a text that is JSON already. An empty one is an answer without a body. */
export function sendJson(
  response: Response,
  { status = 200, headers = {}, body }: { status?: number; headers?: Record<string, string>; body: string | Buffer },
): void {
  response.statusCode = status;
  if (body.length > 0) {
    response.setHeader("Content-Type", "application/json; charset=utf-8");
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader("Content-Length", Buffer.byteLength(body));
  }
  response.end(body);
}

/** The limits of the requests whose caller is known, for `countUnserved`. */
const limitsByRequest = new WeakMap<Request, RequestLimits>();

/**
 * Creates the context of one HTTP request, the same for every transport. Throws `forbidden` for a request that another
 * site's page makes with the session cookie.
 */
export async function createContext(services: Services, request: Request, response: Response): Promise<Context> {
  const { settings } = services;
  if (isCrossSite(request, settings)) {
    const actor = { principal: null, client: clientOf(request, response), requestId: currentRequestId() };
    services.securityLog.refuse(actor, "access.denied", { code: "forbidden", reason: "cross-site" });
    throw new ApiError("forbidden", {
      message: "Requests with the session cookie must come from a page of this site or of one of its apps.",
    });
  }
  const principal = await findPrincipal(services, request, response);
  const client = clientOf(request, response);
  let ends: AbortSignal | undefined;
  // Only for requests that wait: each caller who is watched is looked up twice a second.
  const callerLeft = () => {
    ends ??= principal === null ? client.left : services.callerWatch.watch(principal, client.left);
    return ends;
  };
  const idempotencyKey = request.get("Idempotency-Key");
  const dryRun = request.get("Dry-Run");
  return {
    ...services,
    requestId: currentRequestId(),
    principal,
    limits: createLimits(services, request, response, { address: client.address, principal }),
    client,
    isForeignPage: isForeignPage(request, settings),
    callerLeft,
    turns: turnsFor(response, principal?.userId ?? client.address),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(dryRun !== undefined && { dryRun }),
    setHeader: (name, value) => void response.setHeader(name, value),
    sessionCookie: {
      set: (sessionId) => setSessionCookie(response, sessionId, settings),
      clear: () => clearSessionCookie(response, settings),
    },
  };
}

/**
 * Counts a request that reaches no procedure, such as one to an unknown path or with a body that cannot be read, as this
 * many calls. Does nothing if it has been counted before. Returns the error to respond with if the caller is over the
 * limit. Never rejects.
 */
export async function countUnserved(
  services: Services,
  request: Request,
  response: Response,
  calls = 1,
): Promise<ApiError | null> {
  const known = limitsByRequest.get(request);
  if (calls === 0 || known?.counted || services.limiter === null) return null;
  try {
    const limits =
      known ??
      createLimits(services, request, response, {
        address: clientOf(request, response).address,
        principal: await findPrincipal(services, request, response),
      });
    const group = request.method === "GET" || request.method === "HEAD" ? "read" : "write";
    await Promise.all(Array.from({ length: calls }, () => limits.count({ group })));
    return null;
  } catch (error) {
    // Whatever else failed, such as the database, is not what this response is about.
    return error instanceof ApiError ? error : null;
  }
}

async function findPrincipal(services: Services, request: Request, response: Response): Promise<Principal | null> {
  if (request.headers.authorization === undefined && takesKeysOnly(request, services.settings)) return null;
  return authenticate(request, response, {
    connection: services.database,
    cookies: services.settings,
    now: services.clock.now(),
    // Express takes the path in any case.
    resource: request.baseUrl.toLowerCase() === "/mcp" ? "mcp" : "api",
  });
}

/** Longer ones say nothing more about a browser. */
const MAX_USER_AGENT = 300;

/** Returns where a request comes from. */
export function clientOf(request: Request, response: Response): Client {
  let left: AbortSignal | undefined;
  return {
    // Behind a proxy, `ip` is what the trusted part of X-Forwarded-For says, which need not be an address.
    address: clientAddress(request.ip, request.socket.remoteAddress),
    userAgent: request.headers["user-agent"]?.slice(0, MAX_USER_AGENT) ?? null,
    // Made for the requests that wait only: for each, it took 141 of the 592 µs of CPU time of `GET /wallet` (measured).
    get left() {
      left ??= leftOf(response);
      return left;
    },
  };
}

function leftOf(response: Response): AbortSignal {
  const left = new AbortController();
  // Nobody is there to receive the response, so calls that have not begun are dropped.
  const leave = () => left.abort(new ApiError("unavailable"));
  if (response.closed) leave();
  else response.once("close", leave);
  return left.signal;
}

/** The limits of one request, which `countUnserved` then knows too. */
export function createLimits(
  services: Services,
  request: Request,
  response: Response,
  { address, principal }: { address: string; principal: Principal | null },
): RequestLimits {
  const limits = limitsOf(services.limiter, { address, userId: principal?.userId ?? null }, (headers) => {
    if (!response.headersSent) response.set(headers);
  });
  limitsByRequest.set(request, limits);
  return limits;
}
