import { callTRPCProcedure, type TRPCError } from "@trpc/server";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
import { incomingMessageToRequest } from "@trpc/server/adapters/node-http";
import { resolveResponse } from "@trpc/server/http";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { ApiError } from "../errors.ts";
import { definitionOf, type ProcedureType } from "../meta.ts";
import type { AppRouter } from "../procedures/router.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import { answer, countUnserved, createContext, sendJson } from "./answer.ts";
import { parseJson, readJsonText } from "./body.ts";
import { callNamesOf, MAX_BATCH_SIZE } from "./paths.ts";
import { errorHeaders } from "./sendError.ts";

/** Serves tRPC. Bodies pass the same checks as over REST. */
export function rpcApi(router: AppRouter, services: Services): Router {
  return Router().use(nameOperation(router)).use(checkRequest(router, services)).use(answerCalls(router, services));
}

/**
 * Answers calls. What most clients send, one call of a procedure by the right method, goes to the procedure directly: for each
 * request, tRPC would make a fetch Request and Response, two URLs and three abort signals, which made a read over typed RPC a
 * third slower than over REST (measured). Batches, and what tRPC refuses, go through its resolver, and subscriptions through
 * its middleware, which streams.
 */
function answerCalls(router: AppRouter, services: Services): RequestHandler {
  const options = optionsOf(router, services);
  const stream = createExpressMiddleware(options);
  const procedures: Record<string, unknown> = router._def.procedures;

  return async (request, response, next) => {
    const path = callNamesOf(request.path.slice(1)).join();
    const type = Object.hasOwn(procedures, path) ? definitionOf(procedures[path]).type : null;
    if (type === "subscription") return stream(request, response, next);
    const { batch, connectionParams } = request.query;
    const isRightMethod = type === (request.method === "GET" ? "query" : "mutation");
    if (!isRightMethod || batch !== undefined || connectionParams !== undefined) {
      return resolve(options, request, response);
    }
    const getRawInput = async () => response.locals.input;
    await answer(
      { services, request, response },
      (ctx) => callTRPCProcedure({ router, path, type, ctx, getRawInput, signal: undefined, batchIndex: 0 }),
      (data) => sendJson(response, { headers: rpcHeaders, body: JSON.stringify({ result: { data } }) }),
    );
  };
}

const rpcHeaders = { "Content-Type": "application/json" };

/** What tRPC needs to answer batches and subscriptions by itself. */
function optionsOf(router: AppRouter, services: Services) {
  return {
    router,
    async createContext({ req, res, info }) {
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
    responseMeta: ({ errors, data, type }) => (errors.length === 0 ? {} : headOf(errors, data.length, type)),
  } satisfies Parameters<typeof createExpressMiddleware<AppRouter>>[0];
}

async function resolve(options: ReturnType<typeof optionsOf>, request: Request, response: Response): Promise<void> {
  const resolved = await resolveResponse({
    ...options,
    ...{ path: request.path.slice(1), error: null },
    req: incomingMessageToRequest(request, response, { maxBodySize: null }),
    createContext: ({ info }) => options.createContext({ req: request, res: response, info }),
  });
  // Nothing depends on the headers that tRPC names.
  resolved.headers.delete("Vary");
  // Its bytes as they are: a batch's may be many, and as text they would be decoded and encoded once more.
  const body = Buffer.from(await resolved.arrayBuffer());
  sendJson(response, {
    status: resolved.status,
    headers: { ...rpcHeaders, ...Object.fromEntries(resolved.headers) },
    body,
  });
}

/** Returns the status and the headers of an answer to so many calls, with these errors among their results. */
function headOf(errors: TRPCError[], calls: number, type: ProcedureType | "unknown") {
  const failures = errors.map((error) => toApiError(error));
  const statuses = new Set(failures.map(({ status }) => status));
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  const isCommon = errors.length === calls && statuses.size === 1;
  if (!isCommon) return { status: 207, headers };
  if (failures.some(({ code }) => code === "method_not_allowed")) headers.Allow = type === "mutation" ? "POST" : "GET";
  return { status: [...statuses][0] ?? 500, headers: { ...headers, ...errorHeaders(...failures) } };
}

/** Names the operation for the metrics: the procedure of a single call, or "batch". Unknown names are left out. */
function nameOperation(router: AppRouter): RequestHandler {
  const { procedures } = router._def;
  return (request, response, next) => {
    const [name = "", ...others] = callNamesOf(request.path.slice(1));
    if (others.length > 0) response.locals.operation = "batch";
    else if (Object.hasOwn(procedures, name)) response.locals.operation = name;
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
  const all = callNamesOf(path.slice(1));
  const names = query.batch === "1" ? all : [all.join()];
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
    // For a batch, tRPC parses it again, once for all calls; its own error does not say where invalid JSON is wrong.
    if (typeof text === "string" && text !== "") response.locals.input = parseJson(text, "The input", batchSize);
    next();
  };

/** Returns the number of calls in a batch, or undefined for a lone call. */
function batchSizeOf({ path, query }: Request): number | undefined {
  return query.batch === "1" ? callNamesOf(path.slice(1)).length : undefined;
}
