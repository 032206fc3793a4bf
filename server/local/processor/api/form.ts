import { invalidRequest } from "../model/refusal.ts";

/** A form in Stripe's encoding: `a[b][0]=c` is `{ a: { b: { 0: "c" } } }`. All values are still strings. */
export interface Form {
  [name: string]: string | Form;
}

/** The part of JSON Schema that decoding needs. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
}

const MAX_DEPTH = 12;

/** Parses an urlencoded body or query. Refuses contradictory input, such as `a=1&a[b]=2`. */
export function parseForm(text: string): Form {
  const form = emptyForm();
  for (const [name, value] of new URLSearchParams(text)) {
    if (!/^[^[\]]+(\[[^[\]]*\])*$/.test(name)) throw unknownParameter(name);
    const path = name.replaceAll("]", "").split("[");
    if (path.length > MAX_DEPTH) throw unknownParameter(name);
    setAt(form, path, value, name);
  }
  return form;
}

function setAt(form: Form, path: string[], value: string, name: string): void {
  const [first = "", ...rest] = path;
  // `a[]=1&a[]=2` is a list without indices.
  const key = first === "" ? String(Object.keys(form).length) : first;
  const existing = form[key];
  if (rest.length === 0) {
    if (existing !== undefined) throw unknownParameter(name);
    form[key] = value;
    return;
  }
  if (typeof existing === "string") throw unknownParameter(name);
  const inner = existing ?? emptyForm();
  form[key] = inner;
  setAt(inner, rest, value, name);
}

/** Has no prototype, so that a parameter named `__proto__` is treated like any other. */
function emptyForm(): Form {
  return Object.create(null);
}

function unknownParameter(name: string): Error {
  return invalidRequest("parameter_unknown", `Received unknown parameter: ${name}`, name);
}

/**
 * Converts the strings of a form to the types in the schema: numbers, booleans, lists. A value that does not fit is
 * left unchanged, and the validation refuses it.
 */
export function decode(value: string | Form, schema: Schema, definitions: Record<string, Schema>): unknown {
  const resolved = resolve(schema, definitions);
  if (resolved.anyOf !== undefined) return decodeUnion(value, resolved.anyOf, definitions);
  if (typeof value === "string") return decodeText(value, resolved);
  if (resolved.type === "array") return decodeList(value, resolved.items ?? {}, definitions);
  const { properties = {}, additionalProperties } = resolved;
  const others = typeof additionalProperties === "object" ? additionalProperties : {};
  const decoded = Object.create(null);
  for (const [name, inner] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    decoded[name] = decode(inner, known ?? others, definitions);
  }
  return decoded;
}

function decodeText(text: string, schema: Schema): unknown {
  const types = [schema.type].flat();
  if (types.includes("string")) return text;
  if (types.includes("integer") && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return text;
}

function decodeList(form: Form, items: Schema, definitions: Record<string, Schema>): unknown {
  const keys = Object.keys(form)
    .map(Number)
    .sort((a, b) => a - b);
  if (keys.some((key, index) => key !== index)) return form;
  return keys.map((key) => decode(form[key] ?? "", items, definitions));
}

/** Decodes the value as the first alternative that it matches, for example `''` (to unset), a number or an object. */
function decodeUnion(value: string | Form, alternatives: Schema[], definitions: Record<string, Schema>): unknown {
  for (const alternative of alternatives) {
    const schema = resolve(alternative, definitions);
    const decoded = decode(value, schema, definitions);
    const type = Array.isArray(decoded) ? "array" : Number.isInteger(decoded) ? "integer" : typeof decoded;
    if ([schema.type].flat().includes(type) && (schema.const === undefined || schema.const === decoded)) return decoded;
  }
  return value;
}

function resolve(schema: Schema, definitions: Record<string, Schema>): Schema {
  if (schema.$ref === undefined) return schema;
  const name = decodeURIComponent(schema.$ref.replace("#/definitions/", ""));
  return resolve(definitions[name] ?? {}, definitions);
}
