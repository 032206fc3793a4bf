import { z } from "zod";
import { untrustedFields } from "./untrusted.ts";

/** A JSON Schema as it is sent: plain JSON. */
export type JsonSchema = { type: "object"; [keyword: string]: unknown };
type Keywords = Record<string, unknown>;

const isKeywords = (value: unknown): value is Keywords =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the schema of a tool's arguments, without references: not every client follows them. */
export function inputSchemaOf(schema: z.ZodObject): JsonSchema {
  return rootOf(inline(toJson(schema, "input")));
}

/** Returns the schema of a tool's answer, after `separateUntrusted`. Answers may gain fields. */
export function outputSchemaOf(schema: z.ZodObject): JsonSchema {
  return rootOf(outline(inline(toJson(schema, "output"))));
}

const toJson = (schema: z.ZodObject, io: "input" | "output"): Keywords => ({ ...z.toJSONSchema(schema, { io }) });

function rootOf(schema: unknown): JsonSchema {
  if (!isKeywords(schema) || schema.type !== "object") throw new Error("a tool's schema describes an object");
  const { $schema: _, ...keywords } = schema;
  return { ...keywords, type: "object" };
}

/** Whether a keyword tells a model nothing: it names, repeats its description, bounds nothing, or is for readers of the API's document. */
function isNoise(name: string, value: unknown): boolean {
  if (["$defs", "id", "example", "pattern", "contentEncoding"].includes(name)) return true;
  if ((name === "description" && value === "") || (name === "minLength" && value === 1)) return true;
  if (isKeywords(value) && Object.keys(value).length === 0) return true;
  return typeof value === "number" && Math.abs(value) >= 2 ** 31 - 1;
}

/** Puts definitions in the place of references, and leaves out the noise. */
function inline(root: Keywords): unknown {
  const definitions = isKeywords(root.$defs) ? root.$defs : {};
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isKeywords(value)) return value;
    if (typeof value.$ref === "string") {
      const { $ref, $defs: _, ...others } = value;
      const target = visit(definitions[String($ref).replace("#/$defs/", "")]);
      return isKeywords(target) ? { ...target, ...others } : target;
    }
    const kept = Object.entries(value).filter(([name, inner]) => !isNoise(name, inner));
    return Object.fromEntries(
      kept.map(([name, inner]) => [name, name === "properties" ? visitProperties(inner) : visit(inner)]),
    );
  };
  const visitProperties = (properties: unknown) =>
    isKeywords(properties)
      ? Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, visit(inner)]))
      : properties;
  return visit(root);
}

/** How far an answer is described: its fields, and the fields of a preview. What they hold, the answer itself shows. */
const DEPTH = 2;
/** The fields whose own fields a model must know before it has an answer. */
const described = new Set(["preview"]);

/**
 * What is left of an answer's schema: the names and types of its fields. Models read all schemas before the first call: in
 * full, the answers' are four fifths of them (53,000 of 67,000 characters for 18 tools).
 */
function outline(value: unknown, depth = DEPTH): Keywords {
  if (!isKeywords(value)) return {};
  const { type, description, properties, required, anyOf } = value;
  const types = Array.isArray(anyOf) ? anyOf.map((each) => (isKeywords(each) ? each.type : undefined)) : type;
  const kept = { type: types, ...(description !== undefined && depth < DEPTH && { description }) };
  if (depth === 0 || !isKeywords(properties)) return kept;
  const fields = Object.entries(properties).filter(([name]) => !untrustedFields.has(name));
  const inner = fields.map(([name, field]) => [name, outline(field, described.has(name) ? depth - 1 : 0)]);
  return {
    ...kept,
    properties: Object.fromEntries(inner),
    ...(Array.isArray(required) && { required: requiredIn(required) }),
  };
}

/** Texts of users are moved to `untrusted`. */
const requiredIn = (names: unknown[]) => names.filter((name) => !untrustedFields.has(String(name)));
