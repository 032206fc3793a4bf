import type { Request, RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import type { AppRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { answerMethodNotAllowed } from "./answer.ts";
import { invalidBody, readJsonText } from "./body.ts";
import { openApiCaller } from "./openApiCall.ts";
import { collectRoutes, type Route } from "./routes.ts";
import { parseQuery, parseTarget, type Target } from "./target.ts";

/**
 * The REST face: a fence around trpc-to-openapi. It decides what the library would get wrong: which paths and methods
 * there are, how paths are decoded, what a body may be, and the status of a success. Whatever is thrown becomes an
 * answer in the application's error handler.
 */
export function restApi(router: AppRouter, services: Services): RequestHandler {
  const routes = collectRoutes(router._def.procedures);
  const call = openApiCaller(router, services);

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
    response.locals.operation = route.procedurePath;
    const fields = await readFields(request, response, route, target);
    const output = await call(request, response, route, target.path, fields);
    response.status(route.status);
    if (route.status === 204) response.end();
    else response.type("json").send(output);
  };
}

/** Fields of these names would change the object that carries them on the way to the procedure, not reach it. */
const reservedNames = ["__proto__", "toJSON"];

/** The fields of body or query. No field stands in two places, and none that belongs to the path stands here. */
async function readFields(request: Request, response: Response, route: Route, target: Target): Promise<object> {
  const query = parseQuery(target.search, route.integerParameters);
  const fields = route.takesBody ? await readObject(request, response) : Object.fromEntries(query);
  const issues = [
    ...(route.takesBody ? [...query.keys()] : []).map((path) => ({ path, message: "No query belongs here." })),
    ...route.pathParameters
      .filter((name) => Object.hasOwn(fields, name))
      .map((path) => ({ path, message: "This field stands in the path." })),
    ...reservedNames
      .filter((name) => Object.hasOwn(fields, name))
      .map((path) => ({ path, message: "This field is not known here." })),
  ];
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
  return fields;
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
