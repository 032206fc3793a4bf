import { createExpressMiddleware } from "@trpc/server/adapters/express";
import { type RequestHandler, Router } from "express";
import { ApiError } from "../errors.ts";
import type { AppRouter } from "../procedures/router.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import { readJsonText } from "./body.ts";
import { createContext } from "./context.ts";
import { errorHeaders, sendRpcError } from "./sendError.ts";

/** Maximum number of calls in one request. Source: docs/contract.md "Conventions". */
const MAX_BATCH_SIZE = 20;

/** Serves tRPC. Bodies pass the same checks as over REST. */
export function rpcApi(router: AppRouter, services: Services): Router {
  return Router()
    .use(nameOperation(router))
    .use(checkRequest)
    .use(
      createExpressMiddleware({
        router,
        createContext: async ({ req, res }) => {
          const inputText = req.method === "POST" ? req.body : req.query.input;
          return { ...(await createContext(services, req, res)), ...(typeof inputText === "string" && { inputText }) };
        },
        maxBatchSize: MAX_BATCH_SIZE,
        onError: ({ error }) => {
          // Procedures log their own failures and turn them into ApiErrors, so this one happened before the procedure.
          const failure = toApiError(error);
          if (failure.status < 500 || error.cause instanceof ApiError) return;
          services.log.error({ requestId: currentRequestId(), error: failure.cause ?? error }, failure.code);
        },
        // tRPC would derive the status from its own code. A single call gets the same status and headers as over REST.
        responseMeta: ({ errors: [error], paths = [], type }) => {
          if (error === undefined || paths.length > 1) return {};
          const failure = toApiError(error);
          const allow = failure.code === "method_not_allowed" && { Allow: type === "mutation" ? "POST" : "GET" };
          return { status: failure.status, headers: { ...errorHeaders(failure), ...allow } };
        },
      }),
    );
}

/** Names the operation for the metrics: the procedure of a single call, or "batch". Unknown names are left out. */
function nameOperation(router: AppRouter): RequestHandler {
  const { procedures } = router._def;
  return (request, response, next) => {
    const path = request.path.slice(1);
    if (Object.hasOwn(procedures, path)) response.locals.operation = path;
    else if (path.includes(",")) response.locals.operation = "batch";
    next();
  };
}

/**
 * Allows only GET, and POST with JSON. tRPC itself would also accept a form as a mutation's input, which a page of any site
 * can post, and paths of any depth; and it handles neither charsets nor compressed bodies.
 */
const checkRequest: RequestHandler = async (request, response, next) => {
  try {
    if (!/^\/[^/]+$/.test(request.path)) throw new ApiError("not_found");
    if (request.method !== "GET" && request.method !== "POST") {
      response.set("Allow", "GET, POST");
      throw new ApiError("method_not_allowed");
    }
    // A streamed response would report errors after a status of 200.
    delete request.headers["trpc-accept"];
    delete request.headers.accept;
    if (request.method === "POST") {
      request.body = (await readJsonText(request, response)) ?? "";
      request.headers["content-type"] = "application/json";
    } else {
      delete request.headers["content-type"];
    }
  } catch (error) {
    return sendRpcError(response, toApiError(error));
  }
  next();
};
