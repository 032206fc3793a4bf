import { type ErrorCode, errorCatalogue } from "../../errors.ts";
import { errorsOf, takesDryRun, takesIdempotencyKey } from "../../meta.ts";
import { idempotencyKeyPattern } from "../../repeats/idempotencyKey.ts";
import type { Route } from "../routes.ts";
import type { Json, JsonObject, Operation } from "./json.ts";

/**
 * Corrects what trpc-to-openapi cannot know about an operation: the status of its success, our error codes, who may call
 * it, and that its body takes no other fields.
 */
export function correctOperation(operation: Operation, route: Route): void {
  const { meta, status } = route;
  if (route.takesBody && route.method === "DELETE") moveParametersToBody(operation, route);
  const success = operation.responses["200"] as { content?: Json };
  const responses: JsonObject = {
    [status]: {
      description: successes[status] ?? "Done.",
      headers: headersOf(status, {
        isReplayable: takesIdempotencyKey(meta) && !meta.showsSecret,
        canBeTried: takesDryRun(meta),
      }),
      ...(status !== 204 && { content: success.content ?? {} }),
    },
  };
  if (takesIdempotencyKey(meta)) {
    const parameters = Array.isArray(operation.parameters) ? operation.parameters : [];
    const headers = takesDryRun(meta) ? ["IdempotencyKey", "DryRun"] : ["IdempotencyKey"];
    operation.parameters = [...parameters, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
  }
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

/** trpc-to-openapi knows no body for DELETE: it describes the input as parameters of the query. */
function moveParametersToBody(operation: Operation, { pathParameters }: Route): void {
  const parameters = (operation.parameters ?? []) as JsonObject[]; // what the generator writes
  const fields = parameters.filter(({ name }) => !pathParameters.includes(String(name)));
  operation.parameters = parameters.filter((parameter) => !fields.includes(parameter));
  operation.requestBody = {
    required: true,
    content: {
      "application/json": {
        schema: {
          type: "object",
          properties: Object.fromEntries(
            fields.map(({ name, schema, description }) => [
              String(name),
              { ...(schema as JsonObject), ...(description && { description }) },
            ]),
          ),
          required: fields.filter(({ required }) => required === true).map(({ name }) => String(name)),
        },
      },
    },
  };
}

/** What the operations that change something refer to. */
export const idempotencyKeyParameter: Json = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Makes the request safe to repeat: a repeat with the same key and the same input within 24 hours changes nothing and gets " +
    "the first one's answer. Any text of your choice, such as a UUID; its scope is your user. A refused request leaves its " +
    "key free.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: idempotencyKeyPattern.source },
};

/** What the operations that can be tried refer to. */
export const dryRunParameter: Json = {
  name: "Dry-Run",
  in: "header",
  description:
    "With `true`, everything is done and then undone: status, body and errors are the real ones, the response has " +
    "`Dry-Run: true`, and nothing has changed. What the body shows as new, such as an id or a key, does not exist.",
  schema: { type: "string", enum: ["true", "false"], default: "false" },
};

/** The headers of responses, by their names in the document. */
export const responseHeaders: JsonObject = {
  "RateLimit-Policy": {
    description:
      "The limit that counts this request, of a batch the one that is closest to being reached: its name, `q` requests in `w` seconds.",
    schema: { type: "string" },
    example: '"reads";q=600;w=60',
  },
  RateLimit: {
    description: "What is left of that limit: `r` requests in the next `t` seconds.",
    schema: { type: "string" },
    example: '"reads";r=599;t=60',
  },
  "Retry-After": {
    description: "Seconds to wait.",
    schema: { type: "integer", format: "int32", minimum: 1 },
    example: 60,
  },
  "Idempotent-Replayed": {
    description: "`true` if this is the answer of an earlier request with the same `Idempotency-Key`.",
    schema: { type: "string", enum: ["true"] },
  },
  "Dry-Run": {
    description: "`true` if the request had `Dry-Run: true`, so that nothing has changed. Refusals have it too.",
    schema: { type: "string", enum: ["true"] },
  },
};

function headersOf(status: number, { isReplayable = false, canBeTried = false } = {}): JsonObject {
  const names = [
    ...["RateLimit-Policy", "RateLimit"],
    ...(status === 429 || status === 503 ? ["Retry-After"] : []),
    ...(isReplayable ? ["Idempotent-Replayed"] : []),
    ...(canBeTried ? ["Dry-Run"] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const successes: Record<number, string> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted. The work continues in the background.",
  204: "Done. The response has no body.",
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

/** Operations with the same codes for a status share one response. */
function nameOfErrors(codes: ErrorCode[]): string {
  return codes.join("-");
}

/** The error responses that these operations refer to, by name. */
export function errorResponses(routes: readonly Route[]): JsonObject {
  const lists = routes.flatMap(({ meta }) => [...codesByStatus(errorsOf(meta))]);
  return Object.fromEntries(lists.map(([status, codes]) => [nameOfErrors(codes), errorResponse(status, codes)]));
}

function errorResponse(status: number, codes: ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join("\n\n"),
    headers: headersOf(status),
    content: {
      "application/json": {
        schema: {
          allOf: [
            { $ref: "#/components/schemas/ApiError" },
            { type: "object", properties: { error: { type: "string", enum: codes } } },
          ],
        },
      },
    },
  };
}
