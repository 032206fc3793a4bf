import type { Request, RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import type { AppRouter } from "../procedures/router.ts";
import { shortName, typeName } from "../schemas/messages.ts";
import type { Services } from "../services.ts";
import { invalidBody, parseJson, readJsonText } from "./body.ts";
import { countUnserved } from "./context.ts";
import { sendEventStream } from "./eventStream.ts";
import { openApiCaller } from "./openApiCall.ts";
import { collectRoutes, type Route } from "./routes.ts";
import { sendError, sendMethodNotAllowed } from "./sendError.ts";
import { parseQuery, parseTarget, type Target } from "./target.ts";

/**
 * Serves the REST operations through trpc-to-openapi. What the library would get wrong is decided here: which paths and
 * methods exist, how paths are decoded, what a body may be, and the status of a success. Whatever is thrown here goes to
 * the application's error handler.
 */
export function restApi(router: AppRouter, services: Services): RequestHandler {
  const routes = collectRoutes(router._def.procedures, { embedded: services.testClock !== null });
  const call = openApiCaller(router, services);

  return async (request, response, next) => {
    const target = parseTarget(request.url);
    const candidates = target === null ? [] : routes.filter((route) => route.pattern.test(target.path));
    if (target === null || candidates.length === 0) return next();
    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = candidates.find((candidate) => candidate.method === method);
    if (route === undefined) {
      const refusal = await countUnserved(services, request, response);
      if (refusal !== null) return sendError(response, refusal);
      return sendMethodNotAllowed(
        response,
        candidates.map((candidate) => candidate.method),
      );
    }
    response.locals.operation = route.procedurePath;
    const fields = await readFields(request, response, route, target);
    if (route.type === "subscription") return sendEventStream(router, services, request, response, fields);
    const output = await call(request, response, route, target.path, fields);
    response.status(route.status);
    if (route.status === 204) response.end();
    else response.type("json").send(output);
  };
}

/** Assigning fields with these names would change the object that carries them, and they would not reach the schema. */
const reservedNames = ["__proto__", "toJSON"];

/** Reads the fields of the body or the query. Throws `invalid_input` for a field that is in the wrong place. */
async function readFields(request: Request, response: Response, route: Route, target: Target): Promise<object> {
  const query = parseQuery(target.search, route);
  const fields = route.takesBody ? await readObject(request, response) : Object.fromEntries(query);
  const misplaced: [name: string, message: string][] = [
    ...(route.takesBody ? [...query.keys()] : []).map((name): [string, string] => [
      name,
      "This operation takes no query parameters. Send its fields in the JSON body.",
    ]),
    ...route.pathParameters
      .filter((name) => Object.hasOwn(fields, name))
      .map((name): [string, string] => [name, `\`${name}\` is part of the path. Leave it out here.`]),
    ...reservedNames
      .filter((name) => Object.hasOwn(fields, name))
      .map((name): [string, string] => [name, "Unknown field."]),
  ];
  if (misplaced.length === 0) return fields;
  const issues = misplaced.map(([name, message]) => ({ path: shortName(name), message }));
  throw new ApiError("invalid_input", { issues });
}

/** Reads a JSON object; an empty body counts as `{}`. */
async function readObject(request: Request, response: Response): Promise<object> {
  const text = await readJsonText(request, response);
  if (text === null) return {};
  const body = parseJson(text, "The body");
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw invalidBody(`The body must be a JSON object, not ${typeName(body)}.`);
  return body;
}
