import { type Json, type JsonObject, mapObjects } from "./json.ts";

/**
 * Removes what zod adds and readers do not need: the range of a number's type, a pattern beside `format: uuid`, and empty
 * parameter lists. Writes "or null" in its short form, and names the formats of numbers, which code generators use.
 */
export function tidy(document: Json): Json {
  return mapObjects(document, (found) => {
    const object = withNumberFormat(withShortNull(found));
    return Object.fromEntries(
      Object.entries(object).filter(([key, value]) => {
        if (key === "minimum" || key === "maximum") return !isRangeOfType(object, Number(value));
        if (key === "pattern") return object.format !== "uuid";
        return !(key === "parameters" && Array.isArray(value) && value.length === 0);
      }),
    );
  });
}

/** Whether a bound only says what the type's format says, or that JavaScript's integers end there. */
function isRangeOfType({ minimum }: JsonObject, bound: number): boolean {
  return Math.abs(bound) === Number.MAX_SAFE_INTEGER || (minimum === MIN_INT32 && Math.abs(bound) >= 2 ** 31 - 1);
}

const MIN_INT32 = -(2 ** 31);

/** Integers within 32 bits are `int32`, others `int64`, and other numbers `double`. */
function withNumberFormat(object: JsonObject): JsonObject {
  const { type, minimum, maximum } = object;
  const isOf = (name: string) => type === name || (Array.isArray(type) && type.includes(name));
  if (isOf("number")) return { ...object, format: "double" };
  if (!isOf("integer")) return object;
  const isSmall = Number(minimum ?? -Infinity) >= MIN_INT32 && Number(maximum ?? Infinity) < 2 ** 31;
  return { ...object, format: isSmall ? "int32" : "int64" };
}

/** `{ anyOf: [{ type: "string", … }, { type: "null" }] }` becomes `{ type: ["string", "null"], … }`, and an enum gets a null. */
function withShortNull(object: JsonObject): JsonObject {
  const { anyOf, ...rest } = object;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return object;
  const [schema, other] = anyOf as [JsonObject, JsonObject]; // the members of an anyOf are schemas
  if (other.type !== "null" || typeof schema.type !== "string") return object;
  const nullable = { ...schema, ...rest, type: [schema.type, "null"] };
  return Array.isArray(schema.enum) ? { ...nullable, enum: [...schema.enum, null] } : nullable;
}
