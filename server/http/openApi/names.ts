import type { Route } from "../routes.ts";
import type { Json, JsonObject, Operation } from "./json.ts";

interface MediaType extends JsonObject {
  schema: JsonObject;
}

/**
 * Moves the schemas of an operation's bodies to the document's components, under the names of `server/schemas/names.ts`: a
 * code generator names a type after each. Throws if a name is taken.
 */
export function nameBodies(operation: Operation, { names, status }: Route, schemas: JsonObject): void {
  const hoist = (content: MediaType | undefined, name: string) => {
    if (content === undefined || "$ref" in content.schema) return;
    if (name in schemas) throw new Error(`two schemas are called ${name}: give one of them another id`);
    schemas[name] = content.schema;
    content.schema = { $ref: `#/components/schemas/${name}` };
  };
  hoist(jsonOf(operation.requestBody), names.input);
  hoist(jsonOf(operation.responses[status]), names.output);
}

function jsonOf(part: Json | undefined): MediaType | undefined {
  const { content } = (part ?? {}) as { content?: { "application/json"?: MediaType } }; // a body, as OpenAPI has it
  return content?.["application/json"];
}
