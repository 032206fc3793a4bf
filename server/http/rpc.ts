import { createExpressMiddleware } from "@trpc/server/adapters/express";
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { type RequestHandler, Router } from "express";
import { ApiError } from "../errors.ts";
import type { AppRouter } from "../procedures/router.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { rpcCodeOf, toApiError } from "../translateErrors.ts";
import type { ErrorShape } from "../trpc.ts";
import { errorHeaders } from "./answer.ts";
import { readJsonText } from "./body.ts";
import { createContext } from "./context.ts";

/** Calls in one request at most; each counts by itself against the rate limits. */
const MAX_BATCH_SIZE = 20;

/** Typed RPC, behind the same fence for bodies as REST. */
export function rpcApi(router: AppRouter, services: Services): Router {
  return Router()
    .use(nameOperation(router))
    .use(fence)
    .use(
      createExpressMiddleware({
        router,
        createContext: async ({ req, res }) => {
          const inputText = req.method === "POST" ? req.body : req.query.input;
          return { ...(await createContext(services, req, res)), ...(typeof inputText === "string" && { inputText }) };
        },
        maxBatchSize: MAX_BATCH_SIZE,
        onError: ({ error }) => {
          // A procedure has logged its own failures and made ApiErrors of them; this is one on the way to it.
          const failure = toApiError(error);
          if (failure.status < 500 || error.cause instanceof ApiError) return;
          services.log.error({ requestId: currentRequestId(), error: failure.cause ?? error }, failure.code);
        },
        // JSON-RPC has one code for several of our statuses: a lone call answers with the very status of the REST face.
        responseMeta: ({ errors: [error], paths = [], type }) => {
          if (error === undefined || paths.length > 1) return {};
          const failure = toApiError(error);
          const allow = failure.code === "method_not_allowed" && { Allow: type === "mutation" ? "POST" : "GET" };
          return { status: failure.status, headers: { ...errorHeaders(failure), ...allow } };
        },
      }),
    );
}

/** For the metrics: the procedure of a lone call, or "batch". A name that is no procedure's is the client's choice. */
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
 * Lets through GET, and POST with JSON. tRPC itself also runs a mutation on a form, which any page of any site can post,
 * takes any depth of path, and knows neither charsets nor compressed bodies.
 */
const fence: RequestHandler = async (request, response, next) => {
  try {
    if (!/^\/[^/]+$/.test(request.path)) throw new ApiError("not_found");
    if (request.method !== "GET" && request.method !== "POST") {
      response.set("Allow", "GET, POST");
      throw new ApiError("method_not_allowed");
    }
    // Streamed answers would carry errors behind a status of 200.
    delete request.headers["trpc-accept"];
    delete request.headers.accept;
    if (request.method === "POST") {
      request.body = (await readJsonText(request, response)) ?? "";
      request.headers["content-type"] = "application/json";
    } else {
      delete request.headers["content-type"];
    }
  } catch (error) {
    const failure = toApiError(error);
    response
      .status(failure.status)
      .set(errorHeaders(failure))
      .json({ error: errorShape(failure) });
    return;
  }
  next();
};

function errorShape(error: ApiError): ErrorShape {
  return {
    message: error.message,
    code: TRPC_ERROR_CODES_BY_KEY[rpcCodeOf(error.code)],
    data: error.toBody(currentRequestId()),
  };
}
