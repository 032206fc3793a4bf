import type { Request, Response } from "express";
import { authenticate, clearSessionCookie, isCrossSite, type Principal, setSessionCookie } from "./auth/principal.ts";
import { ApiError } from "./errors.ts";
import { currentRequestId } from "./http/requestId.ts";
import type { Services } from "./services.ts";

/** What every procedure gets. */
export interface Context extends Services {
  readonly requestId: string;
  readonly principal: Principal | null;
  /** The browser's side of a session; does nothing for a caller without a browser. */
  readonly sessionCookie: { set(sessionId: string): Promise<void>; clear(): void };
}

/** A context without HTTP, for tests and jobs. */
export function buildContext(
  services: Services,
  principal: Principal | null,
  requestId: string = crypto.randomUUID(),
): Context {
  return { ...services, requestId, principal, sessionCookie: { set: async () => {}, clear: () => {} } };
}

/** The context of one HTTP request, the same for both transports. */
export async function createContext(services: Services, request: Request, response: Response): Promise<Context> {
  const { publicUrl, sessionSecret } = services.settings;
  if (isCrossSite(request, publicUrl)) {
    throw new ApiError("forbidden", { message: "A request with the session cookie must come from our own pages." });
  }
  const principal = await authenticate(request, response, {
    connection: services.database,
    sessionSecret,
    now: services.clock.now(),
  });
  return {
    ...services,
    requestId: currentRequestId(),
    principal,
    sessionCookie: {
      set: (sessionId) => setSessionCookie(response, sessionId, sessionSecret),
      clear: () => clearSessionCookie(response),
    },
  };
}
