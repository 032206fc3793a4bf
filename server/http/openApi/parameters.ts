import { idempotencyKeyPattern } from "../../repeats/headers.ts";
import { isObject, type Json, type JsonObject, type Operation } from "./json.ts";

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

/**
 * Moves descriptions and examples from the schemas of an operation's parameters to the parameters, where tools look for them,
 * describes comma-separated lists as arrays, and says that an empty parameter of a query counts as left out.
 */
export function describeParameters(operation: Operation, schemas: JsonObject): void {
  if (!Array.isArray(operation.parameters)) return;
  operation.parameters = operation.parameters.map((parameter) => {
    if (!isObject(parameter) || !isObject(parameter.schema)) return parameter;
    const { schema, ...rest } = parameter;
    const { description, example, listOf, ...type } = schema as JsonObject; // checked above
    const described = {
      ...rest,
      ...(description !== undefined && { description }),
      ...(rest.in === "query" && rest.required !== true && { allowEmptyValue: true }),
    };
    if (!Array.isArray(listOf)) {
      return { ...described, schema: type, ...(example !== undefined && { example }) };
    }
    return {
      ...described,
      style: "form",
      explode: false,
      schema: {
        type: "array",
        minItems: 1,
        maxItems: listOf.length,
        items: itemsOf(listOf, schemas),
        ...(type.default !== undefined && { default: type.default }),
      },
      ...(example !== undefined && { example }),
    };
  });
}

/** A reference to the enum with exactly these values, so that generated code has one type for it; otherwise an enum. */
function itemsOf(values: Json[], schemas: JsonObject): Json {
  const isSame = (schema: Json | undefined) =>
    isObject(schema) && JSON.stringify(schema.enum) === JSON.stringify(values) && schema.type === "string";
  const name = Object.keys(schemas).find((candidate) => isSame(schemas[candidate]));
  return name === undefined ? { type: "string", enum: values } : { $ref: `#/components/schemas/${name}` };
}
