import { takesIdempotencyKey } from "../../meta.ts";
import type { Route } from "../routes.ts";
import { isObject, type Json, type JsonObject, type Operation } from "./json.ts";

/** What programs need to know about a whole operation, and OpenAPI has no word for: how to read on, and when to try again. */
export function addHints(operation: Operation, route: Route): void {
  const success = operation.responses[String(route.status)];
  const names = (Array.isArray(operation.parameters) ? operation.parameters : []).map((parameter) =>
    isObject(parameter) ? parameter.name : undefined,
  );
  const cursor = ["cursor", "after"].find((name) => names.includes(name));
  if (isObject(success) && route.type === "query" && cursor !== undefined) {
    // A link of OpenAPI: call the same operation with a value of this answer.
    success.links = {
      next: {
        operationId: operation.operationId ?? "",
        parameters: { [cursor]: "$response.body#/nextCursor" },
        description:
          cursor === "cursor" ? "The next page, unless `nextCursor` is null." : "What happens behind this page.",
      },
    };
  }
  operation["x-retry"] = retryOf(route);
}

/** As the SDK repeats requests. Source: docs/contract.md "Repeating a request". */
function retryOf(route: Route): JsonObject {
  const isKeyed = takesIdempotencyKey(route.meta);
  const isSafe = route.method === "GET" || isKeyed;
  return {
    statuses: isSafe ? [429, 500, 502, 503] : [429],
    withoutAnswer: isSafe,
    waitHeader: "Retry-After",
    ...(isKeyed && { keyHeader: "Idempotency-Key" }),
  };
}

/** Sets that stay as they are. */
const closed = new Set(["WebhookEventType"]);

/**
 * Responses may gain values. A generator makes a type of `enum` that refuses those that it does not know; so what is only in
 * responses lists its values in `x-extensible-enum`, and is text.
 */
export function openEnums(document: JsonObject): void {
  const { paths, components } = document;
  const schemas = isObject(components) && isObject(components.schemas) ? components.schemas : {};
  const asked = new Set<string>(closed);
  const note = (part: Json | undefined): void => {
    if (Array.isArray(part)) part.forEach(note);
    if (!isObject(part)) return;
    const name = typeof part.$ref === "string" ? /^#\/components\/schemas\/(.+)$/.exec(part.$ref)?.[1] : undefined;
    if (name !== undefined && !asked.has(name)) {
      asked.add(name);
      note(schemas[name]);
    }
    for (const inner of Object.values(part)) note(inner);
  };
  const operations = isObject(paths)
    ? Object.values(paths).flatMap((path) => (isObject(path) ? Object.values(path) : []))
    : [];
  for (const operation of operations)
    if (isObject(operation)) note([operation.parameters ?? [], operation.requestBody ?? []]);
  const open = (part: Json | undefined): void => {
    if (Array.isArray(part)) part.forEach(open);
    if (!isObject(part)) return;
    if (Array.isArray(part.enum) && part.enum.length > 1 && part.type === "string") {
      part["x-extensible-enum"] = part.enum;
      delete part.enum;
    }
    for (const [name, inner] of Object.entries(part)) if (name !== "example" && name !== "examples") open(inner);
  };
  // The codes that an operation lists are all that it can answer with.
  for (const [name, schema] of Object.entries(schemas))
    if (!asked.has(name) && (name === "ApiError" || !name.endsWith("Error"))) open(schema);
  for (const operation of operations) if (isObject(operation)) open(operation.responses);
}
