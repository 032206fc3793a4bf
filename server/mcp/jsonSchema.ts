import { z } from "zod";
import { UNTRUSTED_DESCRIPTION, untrustedFields } from "./untrusted.ts";

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
  return rootOf(separate(inline(toJson(schema, "output"))));
}

const toJson = (schema: z.ZodObject, io: "input" | "output"): Keywords => ({ ...z.toJSONSchema(schema, { io }) });

function rootOf(schema: unknown): JsonSchema {
  if (!isKeywords(schema) || schema.type !== "object") throw new Error("a tool's schema describes an object");
  const { $schema: _, ...keywords } = schema;
  return { ...keywords, type: "object" };
}

/** Whether a keyword tells a model nothing: it names, repeats a format, bounds nothing, or is for readers of the API's document. */
function isNoise(name: string, value: unknown, { format }: Keywords): boolean {
  if (name === "$defs" || name === "id" || name === "example") return true;
  if (name === "pattern") return format !== undefined;
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
    const kept = Object.entries(value).filter(([name, inner]) => !isNoise(name, inner, value));
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

/** Does to a schema what `separateUntrusted` does to a value. */
function separate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(separate);
  if (!isKeywords(value)) return value;
  const { additionalProperties: _, properties, required, ...others } = value;
  const keywords = Object.fromEntries(Object.entries(others).map(([name, inner]) => [name, separate(inner)]));
  if (!isKeywords(properties)) return keywords;
  const all = Object.entries(properties);
  const isRequired = new Set(Array.isArray(required) ? required : []);
  const trusted = all.filter(([name]) => !untrustedFields.has(name)).map(([name, inner]) => [name, separate(inner)]);
  const untrusted = all.filter(([name]) => untrustedFields.has(name));
  const requiredOf = (names: string[]) => {
    const those = names.filter((name) => isRequired.has(name));
    return those.length === 0 ? {} : { required: those };
  };
  const untrustedNames = untrusted.map(([name]) => name);
  const inner = {
    type: "object",
    description: UNTRUSTED_DESCRIPTION,
    properties: Object.fromEntries(untrusted),
    ...requiredOf(untrustedNames),
  };
  const needsInner = untrustedNames.some((name) => isRequired.has(name));
  const names = trusted.map(([name]) => String(name));
  const outer = requiredOf(names).required ?? [];
  return {
    ...keywords,
    properties: { ...Object.fromEntries(trusted), ...(untrusted.length > 0 && { untrusted: inner }) },
    ...((outer.length > 0 || needsInner) && { required: needsInner ? [...outer, "untrusted"] : outer }),
  };
}
