import { type Json, type JsonObject, mapObjects } from "./json.ts";

/**
 * Removes what zod adds and readers do not need: the range of safe integers, a pattern beside `format: uuid`, and empty
 * parameter lists. Writes "or null" in its short form.
 */
export function tidy(document: Json): Json {
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
