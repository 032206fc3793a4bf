import type { Request, Response } from "express";
import { authenticate, clearSessionCookie, isCrossSite, setSessionCookie } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import type { Context } from "../trpc.ts";
import { clientNetwork } from "./clientNetwork.ts";
import { takeTurn } from "./overload.ts";

/**
 * Creates the context of one HTTP request, the same for both transports. Throws `forbidden` for a request that another
 * site's page makes with the session cookie.
 */
export async function createContext(services: Services, request: Request, response: Response): Promise<Context> {
  const { publicUrl, sessionSecret } = services.settings;
  if (isCrossSite(request, publicUrl)) {
    throw new ApiError("forbidden", {
      message: "Requests with the session cookie must come from a page of this site.",
    });
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
    takeTurn: (work) => takeTurn(response, principal?.userId ?? clientNetwork(request.ip), work),
    sessionCookie: {
      set: (sessionId) => setSessionCookie(response, sessionId, sessionSecret),
      clear: () => clearSessionCookie(response),
    },
  };
}
