import { createExpressMiddleware } from "@trpc/server/adapters/express";
import { type RequestHandler, Router } from "express";
import { ApiError } from "../errors.ts";
import type { AppRouter } from "../procedures/router.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import { errorShape } from "../trpc.ts";
import { invalidBody, readJsonText } from "./body.ts";
import { countUnserved, createContext } from "./context.ts";
import { errorHeaders } from "./sendError.ts";

/** Maximum number of calls in one request. Source: docs/contract.md "Conventions". */
const MAX_BATCH_SIZE = 20;

/** Serves tRPC. Bodies pass the same checks as over REST. */
export function rpcApi(router: AppRouter, services: Services): Router {
  return Router()
    .use(nameOperation(router))
    .use(checkRequest(services))
    .use(
      createExpressMiddleware({
        router,
        createContext: async ({ req, res, info }) => {
          const inputText = req.method === "POST" ? req.body : req.query.input;
          const context = await createContext(services, req, res).catch(async (error: unknown) => {
            throw (await countUnserved(services, req, res)) ?? error;
          });
          // Procedures count their own calls. A call without one, or with the wrong method, reaches none.
          const type = req.method === "GET" ? "query" : "mutation";
          const unserved = info.calls.filter(({ procedure }) => procedure?._def.type !== type);
          const group = type === "query" ? "read" : "write";
          await Promise.all(unserved.map(() => context.limits.count({ group })));
          return { ...context, ...(typeof inputText === "string" && { inputText }) };
        },
        onError: ({ error, ctx, req }) => {
          // Refused by tRPC before there was a context, such as a batch of queries and mutations.
          if (ctx === undefined && req.res !== undefined) void countUnserved(services, req, req.res);
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
const checkRequest =
  (services: Services): RequestHandler =>
  async (request, response, next) => {
    try {
      if (!/^\/[^/]+$/.test(request.path)) throw new ApiError("not_found");
      // tRPC refuses a larger batch before there is a context that could count it.
      if (request.query.batch === "1" && request.path.split(",").length > MAX_BATCH_SIZE) {
        throw invalidBody(`A batch may have at most ${MAX_BATCH_SIZE} calls.`);
      }
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
      const failure = (await countUnserved(services, request, response)) ?? toApiError(error);
      response
        .status(failure.status)
        .set(errorHeaders(failure))
        .json({ error: errorShape(failure) });
      return;
    }
    next();
  };
