import express, { type Request, type RequestHandler, type Response } from "express";
import { createOpenApiNodeHttpHandler } from "trpc-to-openapi";
import { createContext } from "../context.ts";
import { ApiError, toApiError } from "../errors.ts";
import type { AppRouter } from "../router.ts";
import type { Services } from "../services.ts";
import { answerError, errorHeaders } from "./answer.ts";
import { forbidCoercion } from "./coercion.ts";
import { currentRequestId } from "./requestId.ts";
import { asOpenApiRouter, collectRoutes, type Route } from "./routes.ts";

/** Source: decisions.md "Paths and methods". */
export const MAX_BODY_BYTES = 256 * 1024;

const readJson = express.json({ limit: MAX_BODY_BYTES, type: () => true, inflate: true });

/**
 * The REST face: a fence of ours around trpc-to-openapi, which finds the procedure and calls it. The fence decides what
 * the library would get wrong (see pitfalls in the comments here): 404 and 405, 415 and 413, decoding of the path,
 * typed query parameters, the status of a success and the body of an error.
 */
export function restApi(router: AppRouter, services: Services): RequestHandler {
  forbidCoercion(router);
  const routes = collectRoutes(router._def.procedures);
  const statusOf = new Map(routes.map((route) => [route.procedurePath, route.status]));
  const failures = new WeakMap<object, ApiError>();

  const call = createOpenApiNodeHttpHandler({
    router: asOpenApiRouter(router),
    createContext: ({ req, res }) => createContext(services, req as Request, res as Response),
    onError: ({ error, req }) => {
      failures.set(req, toApiError(error));
    },
    responseMeta: ({ paths, errors }) => {
      const [error] = errors;
      if (error === undefined) return { status: statusOf.get(paths?.[0] ?? "") ?? 200 };
      const failure = toApiError(error);
      return { status: failure.status, headers: errorHeaders(failure) };
    },
  });

  return async (request, response, next) => {
    const path = decodePath(request.url);
    const candidates = path === null ? [] : routes.filter((route) => route.pattern.test(path));
    if (path === null || candidates.length === 0) return next();
    const route = candidates.find(({ method }) => method === request.method);
    if (route === undefined) {
      response.set("Allow", candidates.map(({ method }) => method).join(", "));
      return answerError(response, new ApiError("method_not_allowed"));
    }
    if (takesBody(route)) {
      const refusal = await readBody(request, response, route);
      if (refusal !== null) return answerError(response, refusal);
    } else {
      typeQuery(request, route);
    }
    // The library does not decode the path itself.
    request.url = path + (request.url.includes("?") ? request.url.slice(request.url.indexOf("?")) : "");
    replaceBody(response, (body) => {
      const failure = failures.get(request);
      if (failure !== undefined) return JSON.stringify(failure.toBody(currentRequestId()));
      return response.statusCode === 204 ? undefined : body;
    });
    await call(request, response);
  };
}

function takesBody(route: Route): boolean {
  return route.method === "POST" || route.method === "PATCH";
}

/** The path with its escapes decoded, or null when that is impossible or would make another path of it. */
function decodePath(url: string): string | null {
  const path = url.split("?", 1)[0] ?? "";
  if (!path.includes("%")) return path;
  try {
    const decoded = decodeURIComponent(path);
    return /^[\w/.~-]+$/.test(decoded) && decoded.split("/").length === path.split("/").length ? decoded : null;
  } catch {
    return null;
  }
}

/** Reads a JSON object into `request.body`; an action without a body has the empty one. Gives the refusal, or null. */
async function readBody(request: Request, response: Response, route: Route): Promise<ApiError | null> {
  const { headers } = request;
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (!hasBody) {
    request.body = {};
    headers["content-type"] = "application/json";
    return null;
  }
  if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) return new ApiError("unsupported_media_type");
  const failure = await new Promise<unknown>((done) => readJson(request, response, done));
  if (failure !== undefined) return bodyError(failure);
  // A chunked body may turn out to be empty.
  const body: unknown = request.body ?? {};
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return invalidBody("The body must be an object.");
  const [parameter] = route.pathParameters.filter((name) => Object.hasOwn(body, name));
  if (parameter !== undefined) return invalidBody("This field stands in the path.", parameter);
  request.body = body;
  headers["content-type"] = "application/json";
  return null;
}

function invalidBody(message: string, path = ""): ApiError {
  return new ApiError("invalid_input", { issues: [{ path, message }] });
}

/** Translates the errors of Express' body parser, which carry a `type` of their own. */
function bodyError(failure: unknown): ApiError {
  const type = failure instanceof Error && "type" in failure ? failure.type : undefined;
  if (type === "entity.too.large") return new ApiError("payload_too_large");
  if (type === "charset.unsupported" || type === "encoding.unsupported") return new ApiError("unsupported_media_type");
  return invalidBody("The body is not valid JSON.");
}

const integerPattern = /^-?(0|[1-9]\d{0,14})$/;

/**
 * Query parameters are text. What should be an integer becomes one here, if it is written as one, so that the schemas
 * need no coercion. Each value goes in a list of one, because the library drops a bare "" or 0.
 */
function typeQuery(request: Request, route: Route): void {
  const search = request.url.includes("?") ? request.url.slice(request.url.indexOf("?")) : "";
  const query: Record<string, unknown[]> = Object.create(null);
  for (const [name, text] of new URLSearchParams(search)) {
    const value = route.integerParameters.has(name) && integerPattern.test(text) ? Number(text) : text;
    // A path parameter's name in the query is an unknown field like any other; the path would silently win.
    const field = route.pathParameters.includes(name) ? `${name} ` : name;
    query[field] = [...(query[field] ?? []), value];
  }
  // Express 5 computes `query` anew at each access; the library wants a plain property.
  Object.defineProperty(request, "query", { value: query, configurable: true });
}

/** trpc-to-openapi writes a body of its own for errors and "undefined" statuses: its last write is replaced. */
function replaceBody(response: Response, bodyOf: (body: string | undefined) => string | undefined): void {
  const end = response.end.bind(response) as (body?: string) => Response;
  response.end = ((body?: string) => {
    const replacement = bodyOf(body);
    if (replacement === undefined) response.removeHeader("Content-Type");
    else response.setHeader("Content-Length", Buffer.byteLength(replacement));
    return replacement === undefined ? end() : end(replacement);
  }) as typeof response.end; // the library calls no other form of `end`
}
