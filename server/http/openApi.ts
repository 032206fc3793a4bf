import { createRequire } from "node:module";
import { generateOpenApiDocument } from "trpc-to-openapi";
import { z } from "zod";
import { SESSION_COOKIE } from "../auth/sessions.ts";
import { ErrorBody, type ErrorCode, errorCatalogue } from "../errors.ts";
import type { AppRouter } from "../procedures/router.ts";
import { errorsOf } from "../trpc.ts";
import { eventResponses, eventSchemas, signatureParameter, webhooks } from "./openApiWebhooks.ts";
import { asOpenApiRouter, collectRoutes, type Route, tagOf } from "./routes.ts";

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
  [key: string]: Json;
}
interface Operation extends JsonObject {
  responses: JsonObject;
}
/** The parts of the document that are corrected here. */
interface Document extends JsonObject {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: JsonObject; responses?: JsonObject } & JsonObject;
}

const description = `Rebid is a marketplace for tasks. A buyer posts a task and its budget is held, bidders bid, the buyer
awards one of them, the awarded bidder delivers, and the buyer accepts: then the bidder is paid.

- **Money** is integer cents. **Timestamps** are UTC, ISO 8601, with six fractional digits. **Ids** are UUIDs.
- **Who is calling**: people use the session cookie that signing up or in sets; agents send an API key as
  \`Authorization: Bearer rb_live_…\`. When both are there, the header counts.
- **Input is strict**: a field that is not documented is refused, and so is \`"100"\` where an integer belongs.
- **Lists** go from new to old: pass \`nextCursor\` back as \`cursor\` until it is null.
- **Errors** all have one shape, and \`error\` is a stable code. Beside what an operation lists, any path answers
  \`not_found\` (404) when there is nothing, and \`method_not_allowed\` (405, with \`Allow\`) to a wrong method.`;

const tagDescriptions: Record<string, string> = {
  auth: "Accounts and browser sessions.",
  keys: "API keys for agents, minted by a person in a browser session.",
  wallet:
    "Two buckets, available and held, and every movement in them. What a refund or chargeback of a top-up finds no longer " +
    "available is owed, and paid by what comes in next: see `kind` of a ledger entry.",
  tasks: "Post, change, award and accept.",
  bids: "Bid on a task; then upload samples and the delivery.",
  disputes: "When a delivery is not what was agreed.",
  ratings: "What each side thought of the other.",
  users: "What is public about people.",
  webhooks: "Events pushed to an address of yours.",
  payouts: "From the wallet to a bank account.",
};

/**
 * The OpenAPI document, generated from the procedures and events and then corrected: trpc-to-openapi says 200 for every success,
 * knows nothing of our error codes, loses the strictness of refined inputs, and forbids additional fields in answers,
 * which may gain some.
 */
export function openApiDocument(router: AppRouter, publicUrl: string): JsonObject {
  const routes = collectRoutes(router._def.procedures);
  const document = toJson(
    generateOpenApiDocument(asOpenApiRouter(router), {
      title: "Rebid",
      version,
      description,
      baseUrl: publicUrl,
      defs: eventSchemas,
      securitySchemes: {
        session: { type: "apiKey", in: "cookie", name: SESSION_COOKIE, description: "Set by signing up and in." },
        apiKey: { type: "http", scheme: "bearer", bearerFormat: "rb_live_…", description: "An API key." },
      },
    }),
  ) as Document; // the shape that the generator's type describes

  const { schemas } = document.components;
  // trpc-to-openapi adds a schema of its own for each status; every error of ours has one shape.
  for (const name of Object.keys(schemas).filter((name) => name.startsWith("error."))) delete schemas[name];
  schemas.Error = errorSchema();
  for (const route of routes) {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()];
    if (operation === undefined) throw new Error(`${route.procedurePath} is not in the document`);
    correct(operation, route);
  }
  const errorResponses = Object.fromEntries(
    routes.flatMap(({ meta }) =>
      [...codesByStatus(errorsOf(meta)).values()].map((codes) => [nameOfErrors(codes), errorResponse(codes)]),
    ),
  );
  document.components.responses = { ...errorResponses, ...eventResponses };
  document.components.parameters = { Signature: signatureParameter };
  document.webhooks = toJson(webhooks);
  document.tags = [...new Set(routes.map(tagOf))].map((name) => ({
    name,
    ...(tagDescriptions[name] && { description: tagDescriptions[name] }),
  }));
  separateRequestsFromAnswers(document);
  return tidy(document) as JsonObject;
}

function correct(operation: Operation, route: Route): void {
  const { meta, status } = route;
  const success = operation.responses["200"] as { content?: Json };
  const responses: JsonObject = {
    [status]: {
      description: successes[status] ?? "Done.",
      ...(status !== 204 && { content: success.content ?? {} }),
    },
  };
  for (const [code, codes] of codesByStatus(errorsOf(meta))) {
    responses[code] = { $ref: `#/components/responses/${nameOfErrors(codes)}` };
  }
  operation.responses = responses;
  operation.security = securityOf(route);
  if (typeof meta.access === "object") {
    operation["x-required-scope"] = meta.access.scope;
    operation.description = [meta.description, `An API key needs the scope \`${meta.access.scope}\`.`]
      .filter((line) => line !== undefined)
      .join("\n\n");
  }
  const schema = bodySchemaOf(operation);
  if (schema === undefined) return;
  if (Object.keys(schema.properties ?? {}).length === 0) {
    delete operation.requestBody; // an action without input takes no body
    return;
  }
  schema.additionalProperties = false;
  if (route.method === "PATCH") schema.minProperties = 1;
}

const successes: Record<number, string> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted; the work goes on in the background.",
  204: "Done; there is no body.",
};

function bodySchemaOf(operation: Operation): JsonObject | undefined {
  const body = operation.requestBody as { content?: { "application/json"?: { schema?: JsonObject } } } | undefined;
  return body?.content?.["application/json"]?.schema;
}

function securityOf({ meta }: Route): Json {
  if (meta.access === "public") return [{}, { session: [] }, { apiKey: [] }];
  if (meta.access === "session" || meta.access === "moderator") return [{ session: [] }];
  return [{ session: [] }, { apiKey: [] }];
}

function codesByStatus(codes: ErrorCode[]): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorCatalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** Operations that give the same codes at a status share one description of them. */
function nameOfErrors(codes: ErrorCode[]): string {
  return codes.join("-");
}

function errorResponse(codes: ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join("\n\n"),
    ...(codes.some((code) => errorCatalogue[code].status === 429) && {
      headers: { "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } } },
    }),
    content: {
      "application/json": {
        schema: {
          allOf: [
            { $ref: "#/components/schemas/Error" },
            { type: "object", properties: { error: { type: "string", enum: codes } } },
          ],
        },
      },
    },
  };
}

function errorSchema(): Json {
  const { $schema: _, ...schema } = toJson(z.toJSONSchema(ErrorBody)) as JsonObject;
  return { ...schema, description: "Every error has this shape. `requestId` is also in the header `X-Request-Id`." };
}

/**
 * What is sent to us is strict, while answers may gain fields: a schema that stands in both is there twice, the form for
 * requests under `NameInput`. The generator's own `NameOutput`, its form for answers, gets the plain name.
 */
function separateRequestsFromAnswers(document: Document): void {
  const { schemas } = document.components;
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const requests = operations.map(({ requestBody, parameters }) => ({ requestBody, parameters }) as JsonObject);
  const sent = reachable(requests, schemas);
  // What we send is as free to gain fields as what we answer.
  const answers = [
    ...operations.map(({ responses }) => responses),
    document.components.responses ?? null,
    document.webhooks ?? null,
  ];
  const answered = reachable(answers, schemas);
  const inputs: JsonObject = {};
  const inputNames = new Map<string, string>();
  for (const name of sent) {
    if (answered.has(name) || `${name}Output` in schemas) inputNames.set(name, `${name}Input`);
    inputs[inputNames.get(name) ?? name] = structuredClone(schemas[name] ?? {});
  }
  for (const schema of [...Object.values(inputs), ...requests]) renameRefs(schema, inputNames);

  const outputNames = new Map<string, string>();
  const outputs: JsonObject = {};
  for (const name of answered) {
    const plain = name.replace(/Output$/, "");
    if (plain !== name && plain in schemas) outputNames.set(name, plain);
    outputs[outputNames.get(name) ?? name] = allowNewFields(schemas[name] ?? {});
  }
  for (const operation of operations) operation.responses = allowNewFields(operation.responses) as JsonObject;
  for (const schema of [...Object.values(outputs), ...operations.map(({ responses }) => responses)]) {
    renameRefs(schema, outputNames);
  }
  const all = { ...inputs, ...outputs };
  document.components.schemas = Object.fromEntries(
    Object.keys(all)
      .sort()
      .map((name) => [name, all[name] ?? {}]),
  );
}

const refPrefix = "#/components/schemas/";

/** The names of the schemas that a part of the document leads to. */
function reachable(part: Json, schemas: JsonObject): Set<string> {
  const names = new Set<string>();
  const visit = (value: Json) => {
    if (typeof value !== "object" || value === null) return;
    const ref = Array.isArray(value) ? undefined : value.$ref;
    const name = typeof ref === "string" && ref.startsWith(refPrefix) ? ref.slice(refPrefix.length) : undefined;
    if (name !== undefined && !names.has(name)) {
      names.add(name);
      visit(schemas[name] ?? null);
    }
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(part);
  return names;
}

function renameRefs(part: Json, names: ReadonlyMap<string, string>): void {
  if (typeof part !== "object" || part === null) return;
  if (!Array.isArray(part) && typeof part.$ref === "string" && part.$ref.startsWith(refPrefix)) {
    const name = part.$ref.slice(refPrefix.length);
    part.$ref = refPrefix + (names.get(name) ?? name);
  }
  for (const inner of Object.values(part)) renameRefs(inner, names);
}

function allowNewFields(part: Json): Json {
  return mapObjects(part, (object) => {
    if (object.additionalProperties !== false) return object;
    const { additionalProperties: _, ...rest } = object;
    return rest;
  });
}

/**
 * Leaves out what zod adds and no reader needs: the range of safe integers, a pattern beside `format: uuid`, empty lists;
 * and says "or null" in the short form.
 */
function tidy(document: Json): Json {
  return mapObjects(document, (object) =>
    Object.fromEntries(
      Object.entries(withShortNull(object)).filter(([key, value]) => {
        if (key === "minimum" || key === "maximum") return Math.abs(Number(value)) !== Number.MAX_SAFE_INTEGER;
        if (key === "pattern") return object.format !== "uuid";
        return !(key === "parameters" && Array.isArray(value) && value.length === 0);
      }),
    ),
  );
}

/** `{ anyOf: [{ type: "string", … }, { type: "null" }] }` becomes `{ type: ["string", "null"], … }`. */
function withShortNull(object: JsonObject): JsonObject {
  const { anyOf, ...rest } = object;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return object;
  const [schema, other] = anyOf as [JsonObject, JsonObject]; // the members of an anyOf are schemas
  if (other.type !== "null" || typeof schema.type !== "string" || schema.enum !== undefined) return object;
  return { ...schema, ...rest, type: [schema.type, "null"] };
}

function mapObjects(part: Json, change: (object: JsonObject) => JsonObject): Json {
  if (Array.isArray(part)) return part.map((item) => mapObjects(item, change));
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(Object.entries(change(part)).map(([key, inner]) => [key, mapObjects(inner, change)]));
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json; // what JSON.parse gives is Json by definition
}
