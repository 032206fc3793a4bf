import { callTRPCProcedure } from "@trpc/server";
import type { Request, RequestHandler, Response } from "express";
import { createContext } from "../context.ts";
import { ApiError } from "../errors.ts";
import type { AppRouter } from "../router.ts";
import type { Services } from "../services.ts";
import { answerMethodNotAllowed } from "./answer.ts";
import { invalidBody, readJsonText } from "./body.ts";
import { collectRoutes, type Route } from "./routes.ts";
import { parseQuery, parseTarget, type Target } from "./target.ts";

/**
 * The REST face: finds the procedure that a request names, gathers its input from path, query and body, and calls it
 * as typed RPC does. Whatever is thrown becomes an answer in the application's error handler.
 *
 * trpc-to-openapi, which writes the document, has such a handler too. It is not used: it coerces types in bodies (for
 * typed RPC as well, once REST was called), answers 404 for a wrong method, and leaves paths undecoded.
 */
export function restApi(router: AppRouter, services: Services): RequestHandler {
  const routes = collectRoutes(router._def.procedures);

  return async (request, response, next) => {
    const target = parseTarget(request.url);
    const candidates = target === null ? [] : routes.filter((route) => route.pattern.test(target.path));
    if (target === null || candidates.length === 0) return next();
    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = candidates.find((candidate) => candidate.method === method);
    if (route === undefined) {
      return answerMethodNotAllowed(
        response,
        candidates.map((candidate) => candidate.method),
      );
    }
    const input = await readInput(request, response, route, target);
    const ctx = await createContext(services, request, response);
    const output = await callTRPCProcedure({
      router,
      path: route.procedurePath,
      type: route.type,
      ctx,
      getRawInput: async () => input,
      signal: undefined,
      batchIndex: 0,
    });
    response.status(route.status);
    if (route.status === 204) response.end();
    else response.json(output);
  };
}

/** The fields of path, query or body as one input. No field stands in two places. */
async function readInput(request: Request, response: Response, route: Route, target: Target): Promise<object> {
  const takesBody = route.method === "POST" || route.method === "PATCH";
  const query = parseQuery(target.search, route.integerParameters);
  const body = takesBody ? await readObject(request, response) : {};
  const issues = [
    ...(takesBody ? [...query.keys()] : []).map((path) => ({ path, message: "No query belongs here." })),
    ...route.pathParameters
      .filter((name) => Object.hasOwn(body, name) || query.has(name))
      .map((path) => ({ path, message: "This field stands in the path." })),
  ];
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
  return { ...Object.fromEntries(query), ...body, ...route.pattern.exec(target.path)?.groups };
}

/** A JSON object; no body at all is the empty one. */
async function readObject(request: Request, response: Response): Promise<object> {
  const text = await readJsonText(request, response);
  if (text === null) return {};
  const body = parseJson(text);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw invalidBody("The body must be an object.");
  return body;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidBody("The body is not valid JSON.");
  }
}
