import type { Request, RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { rateGroupOf } from "../meta.ts";
import type { AppRouter } from "../procedures/router.ts";
import { shortName, typeName } from "../schemas/messages.ts";
import type { Services } from "../services.ts";
import { primaryReads } from "../store/publicReads.ts";
import { buildContext, type Context } from "../trpc.ts";
import { answer, countUnserved, sendJson } from "./answer.ts";
import { invalidBody, parseJson, readJsonText } from "./body.ts";
import { sendEventStream } from "./eventStream.ts";
import type { Caller } from "./openApiCall.ts";
import { collectRoutes, type Route } from "./routes.ts";
import { sendError, sendMethodNotAllowed } from "./sendError.ts";
import { SharedAnswers } from "./sharedAnswers.ts";
import { parseQuery, parseTarget, type Target } from "./target.ts";

/**
 * Serves the REST operations through trpc-to-openapi. What the library would get wrong is decided here: which paths and
 * methods exist, how paths are decoded, what a body may be, and the status of a success. Whatever is thrown here goes to
 * the application's error handler.
 */
export function restApi(router: AppRouter, services: Services): RequestHandler {
  const routes = collectRoutes(router._def.procedures, { embedded: services.testClock !== null });
  let opened: Caller | undefined;
  // The library and what it brings take a tenth of the time that a start needs for modules: the first call loads them.
  const call: Caller = async (...request) => {
    opened ??= (await import("./openApiCall.ts")).openApiCaller(router);
    return opened(...request);
  };
  // A path is compared with those of its shape only, and not with all of them.
  const routesByShape = Map.groupBy(routes, ({ path }) => shapeOf(path));

  const answers = new SharedAnswers<Buffer>();

  /** The caller only counts against the limits: what is shared is made for nobody. */
  async function share(context: Context, route: Route, path: string, fields: object): Promise<Buffer> {
    const { principal, client, limits, turns, requestId } = context;
    await limits.count({ group: rateGroupOf(route.meta, route.type) });
    // A standby answers visitors only: for whoever is signed in, what they changed themselves must be there.
    const reader = principal === null ? services : { ...services, publicReads: primaryReads(services.database) };
    return answers.get(`${principal === null} ${path} ${JSON.stringify(fields)}`, {
      caller: principal?.userId ?? client.address,
      takeTurn: (work) => turns.run({ onlyReads: true, left: () => client.left }, work),
      make: async () => Buffer.from(await call(buildContext(reader, null, { requestId }), route, path, fields)),
    });
  }

  return async (request, response, next) => {
    const target = parseTarget(request.url);
    const candidates =
      target === null
        ? []
        : (routesByShape.get(shapeOf(target.path)) ?? []).filter(({ pattern }) => pattern.test(target.path));
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
    const run = route.meta.sharesAnswers ? share : call;
    await answer<string | Buffer>(
      { services, request, response },
      (context) => run(context, route, target.path, fields),
      (body) => sendJson(response, { status: route.status, body }),
    );
  };
}

/** The first segment of a path, which is never a parameter, and the number of segments. */
function shapeOf(path: string): string {
  const segments = path.split("/");
  return `${segments[1]} ${segments.length}`;
}

/** Assigning a field with this name would change the object that carries it, and it would not reach the schema. */
const RESERVED_NAME = "__proto__";

/** Reads the fields of the body or the query. Throws `invalid_input` for a field that is in the wrong place. */
async function readFields(request: Request, response: Response, route: Route, target: Target): Promise<object> {
  const query = parseQuery(target.search, route);
  const fields = route.takesBody ? await readObject(request, response) : Object.fromEntries(query);
  const misplaced: (readonly [name: string, message: string])[] = [
    ...(route.takesBody ? [...query.keys()] : []).map((name): [string, string] => [
      name,
      "This operation takes no query parameters. Send its fields in the JSON body.",
    ]),
    ...route.pathParameters
      .filter((name) => Object.hasOwn(fields, name))
      .map((name): [string, string] => [name, `\`${name}\` is part of the path. Leave it out here.`]),
    ...(Object.hasOwn(fields, RESERVED_NAME) ? [[RESERVED_NAME, "Unknown field."] as const] : []),
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
