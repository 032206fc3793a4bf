import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import { openApiDocument } from "../../server/http/openApi/document.ts";
import { isObject, type Json, type JsonObject, mapObjects, toJson } from "../../server/http/openApi/json.ts";
import type { Route } from "../../server/http/routes.ts";
import { errorsOf } from "../../server/meta.ts";
import { appRouter } from "../../server/procedures/router.ts";
import { routes } from "./operations.ts";

/**
 * Every service of the test suite compares what it answers, over REST and typed RPC, with the API document, and notes which
 * documented answers it gave. After a run of the whole suite, none may be left that no test has provoked.
 */

/** What the errors of every path can be, beside those of its operation: the document says so at its beginning. */
const generalErrors = new Set<ErrorCode>(["not_found", "method_not_allowed"]);
/** Over RPC every mutation has a body, also one that is a DELETE without body over REST. */
const bodyErrors = new Set<ErrorCode>(["payload_too_large", "unsupported_media_type"]);

const answer = (route: Route, status: number, code = "") => `${route.procedurePath} ${status} ${code}`.trim();

/** The answers that the document promises; no test can provoke a bug. */
export function documentedAnswers(): string[] {
  return routes.flatMap((route) => [
    answer(route, route.status),
    ...errorsOf(route.meta)
      .filter((code) => code !== "internal_error")
      .map((code) => answer(route, errorCatalogue[code].status, code)),
  ]);
}

/** Returns the documented answers that are in none of the files of a folder. */
export function missingAnswers(folder: string): string[] {
  const given = new Set(readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n")));
  return documentedAnswers().filter((each) => !given.has(each));
}

const seen = new Set<string>();
let unwritten: string[] = [];

/** Writes down the answers that were given since the last call, for the end of the run. */
export function noteAnswers(folder: string): void {
  if (unwritten.length > 0) appendFileSync(join(folder, String(process.pid)), `${unwritten.join("\n")}\n`);
  unwritten = [];
}

/** Watches a response on its way out, and calls `report` if it is not as documented. */
export function watchAnswer(request: IncomingMessage, response: ServerResponse, report: (fault: string) => void): void {
  const { method = "", url = "" } = request;
  if (method === "HEAD" || method === "OPTIONS") return;
  const chunks: Buffer[] = [];
  const keep = (chunk: unknown) => {
    if (isJson(response) && (typeof chunk === "string" || chunk instanceof Uint8Array)) chunks.push(Buffer.from(chunk));
  };
  const { write, end } = response;
  // Node's own functions have several signatures, which this passes through.
  response.write = ((...all: Parameters<typeof write>) => {
    keep(all[0]);
    return write.apply(response, all);
  }) as typeof write;
  response.end = ((...all: Parameters<typeof end>) => {
    keep(all[0]);
    try {
      const fault = findFault(method, url, response, chunks);
      if (fault !== null) report(`${method} ${url}: ${fault}`);
    } catch (error) {
      // The client gets its answer whatever is wrong with the comparison.
      report(`${method} ${url}: ${error}`);
    }
    return end.apply(response, all);
  }) as typeof end;
}

const isJson = (response: ServerResponse) => /^application\/json/.test(String(response.getHeader("content-type")));

function findFault(method: string, url: string, response: ServerResponse, chunks: Buffer[]): string | null {
  const path = url.replace(/\?.*$/s, "").replace(/(?<=.)\/$/, "");
  const { statusCode: status } = response;
  const parse = () => (chunks.length === 0 ? undefined : (JSON.parse(Buffer.concat(chunks).toString()) as Json));
  if (!path.startsWith("/trpc/")) {
    const route = routes.find((candidate) => candidate.method === method && candidate.pattern.test(path));
    return route === undefined ? null : faultOf(route, status, parse());
  }
  const names = path.slice("/trpc/".length).replaceAll("%2C", ",").split(",");
  const body = parse();
  const calls = Array.isArray(body) ? body : [body];
  for (const [index, call] of calls.entries()) {
    const route = routes.find(({ procedurePath }) => procedurePath === names[index]);
    if (route === undefined || !isObject(call)) continue;
    const { result, error } = call;
    const data = isObject(error) ? error.data : isObject(result) ? result.data : undefined;
    const code = isObject(error) && isObject(data) ? (data.error as ErrorCode) : undefined; // validated below
    const fault = faultOf(route, code === undefined ? route.status : errorCatalogue[code].status, data, true);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOf(route: Route, status: number, body: Json | undefined, isRpc = false): string | null {
  const code = status >= 400 && isObject(body) ? (body.error as ErrorCode) : undefined; // validated below
  if (code !== undefined && !errorsOf(route.meta).includes(code)) {
    const isGeneral = generalErrors.has(code) || (isRpc && bodyErrors.has(code));
    return isGeneral ? null : `${code} is not documented for ${route.procedurePath}`;
  }
  const note = answer(route, status, code);
  if (!seen.has(note)) {
    seen.add(note);
    unwritten.push(note);
  }
  const validate = validatorOf(route, status);
  if (validate === null || body === undefined || validate(body)) return null;
  const [first] = validate.errors ?? [];
  return `${note} is not as documented: ${first?.instancePath} ${first?.message} ${JSON.stringify(first?.params)}`;
}

const validators = new Map<string, ValidateFunction | null>();
let compiler: { ajv: Ajv2020; document: JsonObject } | undefined;

/** Returns the validator of a documented body; null if there is none to validate. */
function validatorOf(route: Route, status: number): ValidateFunction | null {
  const key = answer(route, status);
  const known = validators.get(key);
  if (known !== undefined) return known;
  compiler ??= openCompiler();
  const path = ["paths", route.path, route.method.toLowerCase(), "responses", String(status)];
  const pointer = path.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1")).join("/");
  const response = path.reduce<Json | undefined>(
    (part, name) => (isObject(part) ? part[name] : undefined),
    compiler.document,
  );
  if (response === undefined) throw new Error(`${key} is not documented`);
  const place = isObject(response) && typeof response.$ref === "string" ? response.$ref.slice(2) : pointer;
  const content = place
    .split("/")
    .map((part) => part.replaceAll("~1", "/"))
    .reduce<Json | undefined>((part, name) => (isObject(part) ? part[name] : undefined), compiler.document);
  const media = isObject(content) && isObject(content.content) ? content.content["application/json"] : undefined;
  const schema = isObject(media) ? media.schema : undefined;
  // Compiled once, however many operations share it.
  const validate = isObject(schema) ? compiler.ajv.getSchema(`document${String(schema.$ref)}`) : null;
  if (validate === undefined) throw new Error(`the body of ${key} has no schema of its own`);
  validators.set(key, validate);
  return validate;
}

const formats = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
};

/**
 * Compiles what is asked for only, and each record once. Responses may gain fields for their clients, but for us a field that
 * the document does not have is a leak.
 */
function openCompiler(): { ajv: Ajv2020; document: JsonObject } {
  const document = openApiDocument(appRouter, "http://localhost:3000");
  const ajv = new Ajv2020({ strict: false, formats, logger: false, inlineRefs: false });
  const schemas = isObject(document.components) ? document.components.schemas : {};
  ajv.addSchema({ $id: "document", components: { schemas: toJson(mapObjects(schemas ?? {}, close)) } });
  return { ajv, document };
}

function close(schema: JsonObject): JsonObject {
  // An error's body is an `ApiError`, narrowed to its codes: the whole is closed, and not its parts.
  if (Array.isArray(schema.allOf)) return { ...schema, unevaluatedProperties: false };
  const isWhole = schema.type === "object" && isObject(schema.properties) && !("error" in schema.properties);
  return isWhole ? { ...schema, additionalProperties: false } : schema;
}
