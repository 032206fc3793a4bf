import type { Route } from "../routes.ts";
import type { Json, JsonObject, Operation } from "./json.ts";

interface MediaType extends JsonObject {
  schema: JsonObject;
}

/**
 * Moves the schemas of an operation's bodies to the document's components, under the names of `server/schemas/names.ts`: a
 * code generator names a type after each, and documents it with the description. Throws if a name is taken.
 */
export function nameBodies(operation: Operation, { names, status, meta }: Route, schemas: JsonObject): void {
  const hoist = (content: MediaType | undefined, name: string, description: string) => {
    if (content === undefined || "$ref" in content.schema) return;
    if (name in schemas) throw new Error(`two schemas are called ${name}: give one of them another id`);
    schemas[name] = { description, ...content.schema };
    content.schema = { $ref: `#/components/schemas/${name}` };
  };
  hoist(jsonOf(operation.requestBody), names.input, `The request body of “${meta.summary}”.`);
  hoist(jsonOf(operation.responses[status]), names.output, `The response of “${meta.summary}”.`);
}

function jsonOf(part: Json | undefined): MediaType | undefined {
  const { content } = (part ?? {}) as { content?: { "application/json"?: MediaType } }; // a body, as OpenAPI has it
  return content?.["application/json"];
}
