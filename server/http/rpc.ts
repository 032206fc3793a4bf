import type { TRPCError } from "@trpc/server";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
import { incomingMessageToRequest } from "@trpc/server/adapters/node-http";
import { resolveResponse } from "@trpc/server/http";
import { type Request, type RequestHandler, Router } from "express";
import { ApiError } from "../errors.ts";
import { definitionOf } from "../meta.ts";
import type { AppRouter } from "../procedures/router.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import { parseJson, readJsonText } from "./body.ts";
import { countUnserved, createContext } from "./context.ts";
import { errorHeaders } from "./sendError.ts";

/** Maximum number of calls in one request. Source: docs/contract.md "Conventions". */
const MAX_BATCH_SIZE = 20;

/** Serves tRPC. Bodies pass the same checks as over REST. */
export function rpcApi(router: AppRouter, services: Services): Router {
  return Router().use(nameOperation(router)).use(checkRequest(router, services)).use(answerCalls(router, services));
}

type MiddlewareOptions = Parameters<typeof createExpressMiddleware<AppRouter>>[0];

/**
 * Answers through tRPC. Only a subscription goes through tRPC's own middleware: it sends every answer as a stream, in chunks,
 * which made a read over typed RPC a fifth slower than over REST (measured).
 */
function answerCalls(router: AppRouter, services: Services): RequestHandler {
  const options = {
    router,
    createContext: async ({ req, res, info }) => {
      const context = await createContext(services, req, res).catch(async (error: unknown) => {
        throw (await countUnserved(services, req, res)) ?? error;
      });
      return { ...context, calls: info.calls.length };
    },
    maxBatchSize: MAX_BATCH_SIZE,
    onError: ({ error }: { error: TRPCError }) => {
      // Procedures log their own failures and turn them into ApiErrors, so this one happened before the procedure.
      const failure = toApiError(error);
      if (failure.status < 500 || error.cause instanceof ApiError) return;
      services.log.error({ requestId: currentRequestId(), error: failure.cause ?? error }, failure.code);
    },
    // tRPC would derive the status from its own codes, and send what it refuses before the procedures as plain text.
    responseMeta: ({ errors, data, type }) => {
      if (errors.length === 0) return {};
      const failures = errors.map((error) => toApiError(error));
      const statuses = new Set(failures.map(({ status }) => status));
      const headers = { "Content-Type": "application/json" };
      const isCommon = errors.length === data.length && statuses.size === 1;
      if (!isCommon) return { status: 207, headers };
      const isWrongMethod = failures.some(({ code }) => code === "method_not_allowed");
      return {
        status: [...statuses][0] ?? 500,
        headers: {
          ...headers,
          ...errorHeaders(...failures),
          ...(isWrongMethod && { Allow: type === "mutation" ? "POST" : "GET" }),
        },
      };
    },
  } satisfies MiddlewareOptions;
  const stream = createExpressMiddleware(options);
  const procedures: Record<string, unknown> = router._def.procedures;

  return async (request, response, next) => {
    const path = request.path.slice(1);
    const name = decoded(path);
    if (Object.hasOwn(procedures, name) && definitionOf(procedures[name]).type === "subscription")
      return stream(request, response, next);
    const answer = await resolveResponse({
      ...options,
      ...{ path, error: null, req: incomingMessageToRequest(request, response, { maxBodySize: null }) },
      createContext: ({ info }) => options.createContext({ req: request, res: response, info }),
    });
    const body = await answer.text();
    response.statusCode = answer.status;
    for (const [header, value] of answer.headers) response.setHeader(header, value);
    response.setHeader("Content-Length", Buffer.byteLength(body));
    response.end(body);
  };
}

/** tRPC decodes names in the same way. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
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
 * Returns how many calls of a request reach no procedure, which would count them: those with an unknown name or the wrong
 * method. A request that tRPC refuses as a whole counts as one.
 */
function countUnservedCalls(router: AppRouter, { method, path, query }: Request): number {
  const procedures: Record<string, unknown> = router._def.procedures;
  const types = method === "GET" ? ["query", "subscription"] : ["mutation"];
  const names = query.batch === "1" ? path.slice(1).split(",") : [path.slice(1)];
  if (names.length > MAX_BATCH_SIZE || query.connectionParams !== undefined) return 1;
  return names.filter(
    (name) => !Object.hasOwn(procedures, name) || !types.includes(definitionOf(procedures[name]).type),
  ).length;
}

/**
 * Allows only GET, and POST with JSON. tRPC itself would also accept a form as a mutation's input, which a page of any site
 * can post, and paths of any depth; and it handles neither charsets nor compressed bodies.
 */
const checkRequest =
  (router: AppRouter, services: Services): RequestHandler =>
  async (request, response, next) => {
    if (!/^\/[^/\\]+$/.test(request.path)) throw new ApiError("not_found");
    // Without the host of a target in absolute form: tRPC parses the target as a URL, and a failure would end the process.
    request.url = request.path + (/\?[^#]*/.exec(request.url)?.[0] ?? "");
    if (request.method !== "GET" && request.method !== "POST") {
      response.set("Allow", "GET, POST");
      throw new ApiError("method_not_allowed");
    }
    const batchSize = batchSizeOf(request);
    if (batchSize !== undefined && batchSize > MAX_BATCH_SIZE) {
      throw new ApiError("invalid_input", { message: `A batch holds at most ${MAX_BATCH_SIZE} calls.` });
    }
    const refusal = await countUnserved(services, request, response, countUnservedCalls(router, request));
    if (refusal !== null) throw refusal;
    // A streamed batch would report errors after a status of 200. Subscriptions are streams without these headers.
    delete request.headers["trpc-accept"];
    delete request.headers.accept;
    if (request.method === "POST") {
      request.body = (await readJsonText(request, response)) ?? "";
      request.headers["content-type"] = "application/json";
    } else {
      delete request.headers["content-type"];
    }
    const text = request.method === "POST" ? request.body : [request.query.input].flat()[0];
    // tRPC parses it again, once for all calls; its own error does not say where invalid JSON is wrong.
    if (typeof text === "string" && text !== "") parseJson(text, "The input", batchSize);
    next();
  };

/** Returns the number of calls in a batch, or undefined for a lone call. tRPC decodes the path before it splits it, too. */
function batchSizeOf({ path, query }: Request): number | undefined {
  return query.batch === "1" ? path.replaceAll(/%2c/gi, ",").split(",").length : undefined;
}
