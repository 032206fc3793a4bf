import type { Request, RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { rateGroupOf } from "../meta.ts";
import type { AppRouter } from "../procedures/router.ts";
import { MAX_QUERY_PARAMETERS } from "../schemas/inputBounds.ts";
import type { InputIssue } from "../schemas/inputIssue.ts";
import { shortName, typeName } from "../schemas/messages.ts";
import type { Services } from "../services.ts";
import { primaryReads } from "../store/publicReads.ts";
import { buildContext, type Context } from "../trpc.ts";
import { answer, countUnserved, sendJson } from "./answer.ts";
import { invalidBody, parseJson, readJsonText } from "./body.ts";
import { sendEventStream } from "./eventStream.ts";
import type { CallOperation } from "./openApiCall.ts";
import { decodeEscapes } from "./paths.ts";
import { collectRoutes, type Route, type Target, targetFinder } from "./routes.ts";
import { sendError, sendMethodNotAllowed } from "./sendError.ts";
import { SharedAnswers } from "./sharedAnswers.ts";

/**
 * Serves the REST operations through trpc-to-openapi. What the library would get wrong is decided here: which paths and
 * methods exist, how paths are decoded, what a body may be, and the status of a success. Whatever is thrown here goes to
 * the application's error handler.
 */
export function restApi(router: AppRouter, services: Services): RequestHandler {
  const findTarget = targetFinder(collectRoutes(router._def.procedures, { embedded: services.testClock !== null }));
  let opened: CallOperation | undefined;
  // The library and what it brings take a tenth of the time that a start needs for modules: the first call loads them.
  const call: CallOperation = async (...request) => {
    opened ??= (await import("./openApiCall.ts")).openApiCall(router);
    return opened(...request);
  };

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
    const target = findTarget(request.url);
    if (target === null) return next();
    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = target.routes.find((candidate) => candidate.method === method);
    if (route === undefined) {
      const refusal = await countUnserved(services, request, response);
      if (refusal !== null) return sendError(response, refusal);
      return sendMethodNotAllowed(response, methodsOf(target));
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

/** The methods of a path. `/payouts/onboarding` also fits `/payouts/{id}`, but is no payout. */
function methodsOf({ routes }: Target): string[] {
  const fewest = Math.min(...routes.map(({ pathParameters }) => pathParameters.length));
  return routes.filter(({ pathParameters }) => pathParameters.length === fewest).map(({ method }) => method);
}

/** Assigning a field with this name would change the object that carries it, and it would not reach the schema. */
const RESERVED_NAME = "__proto__";

/** Reads the fields of the body or the query. Throws `invalid_input` for a field that is in the wrong place. */
async function readFields(request: Request, response: Response, route: Route, { search }: Target): Promise<object> {
  const query = parseQuery(search, route);
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

/**
 * Returns the query's parameters by name. Values are text; integer parameters become numbers, and boolean ones true or false,
 * so that the schemas need no coercion. An empty parameter counts as left out, if the operation knows it. Throws `invalid_input` for too many
 * parameters, for one that is given twice, and for a broken % escape.
 */
function parseQuery(
  search: string,
  { queryParameters, integerParameters, booleanParameters }: Route,
): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const issues = new Map<string, InputIssue>();
  const pairs = search.split("&").filter((part) => part !== "");
  if (pairs.length > MAX_QUERY_PARAMETERS) {
    const message = `The query has more than ${MAX_QUERY_PARAMETERS} parameters.`;
    throw new ApiError("invalid_input", { issues: [{ path: "", message }] });
  }
  for (const pair of pairs) {
    const [name, text] = splitPair(pair).map((part) => decodeEscapes(part.replaceAll("+", " ")));
    const path = shortName(name ?? "");
    const subject = path === "" ? "The query" : `\`${path}\``;
    if (name == null || text == null) issues.set(path, { path, message: `${subject} has a broken % escape.` });
    else if (fields.has(name)) issues.set(path, { path, message: `${subject} is given more than once.` });
    else if (integerParameters.has(name) && text !== "") fields.set(name, integerOf(text));
    else fields.set(name, booleanParameters.has(name) && isBoolean(text) ? text === "true" : text);
  }
  if (issues.size > 0) throw new ApiError("invalid_input", { issues: [...issues.values()] });
  return new Map([...fields].filter(([name, value]) => value !== "" || !queryParameters.has(name)));
}

function splitPair(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
}

const isBoolean = (text: string) => text === "true" || text === "false";

const integerPattern = /^(0|-?[1-9]\d{0,14})$/;

/** NaN for text that is not an integer: the schema refuses it. */
function integerOf(text: string): number {
  return integerPattern.test(text) ? Number(text) : Number.NaN;
}
