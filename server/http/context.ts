import type { Request, Response } from "express";
import { isForeignPage, takesKeysOnly } from "../auth/origins.ts";
import { authenticate, clearSessionCookie, isCrossSite, type Principal, setSessionCookie } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import { type Client, clientAddress } from "../limits/address.ts";
import { limitsOf, type RequestLimits } from "../limits/requestLimits.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import type { Context } from "../trpc.ts";
import { idle, takeTurn } from "./overload.ts";

/** The limits of the requests whose caller is known, for `countUnserved`. */
const limitsByRequest = new WeakMap<Request, RequestLimits>();

/**
 * Creates the context of one HTTP request, the same for both transports. Throws `forbidden` for a request that another
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
    isForeign: isForeignPage(request, settings),
    callerLeft: () => callerLeft(),
    takeTurn: (work, { onlyReads, needsCaller }) =>
      takeTurn(response, principal?.userId ?? client.address, work, {
        onlyReads,
        signal: () => (needsCaller ? callerLeft() : client.left),
      }),
    idle: () => idle(response),
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
  });
}

/** Returns where a request comes from. */
export function clientOf(request: Request, response: Response): Client {
  let left: AbortSignal | undefined;
  return {
    // Behind a proxy, `ip` is what the trusted part of X-Forwarded-For says, which need not be an address.
    address: clientAddress(request.ip, request.socket.remoteAddress),
    // Made for the requests that wait only: for each, it took 141 of the 592 µs of processor time of `GET /wallet` (measured).
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

function createLimits(
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
