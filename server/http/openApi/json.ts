export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}
/** An operation; the corrections work on its responses. */
export interface Operation extends JsonObject {
  responses: JsonObject;
}
/** The parts of the document that are corrected. */
export interface Document extends JsonObject {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: JsonObject; responses?: JsonObject } & JsonObject;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Replaces every object in a part of the document, from the outside in. */
export function mapObjects(part: Json, change: (object: JsonObject) => JsonObject): Json {
  if (Array.isArray(part)) return part.map((item) => mapObjects(item, change));
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(Object.entries(change(part)).map(([key, inner]) => [key, mapObjects(inner, change)]));
}

export function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json; // JSON.parse returns nothing else
}
