import { type Document, refName, resolve, type Schema } from "./document.ts";

/** One row of a table of fields. */
export interface Field {
  /** With dots for fields of fields, and `[]` for items. */
  name: string;
  type: string;
  required: boolean;
  description: string;
}

/** Returns the fields of a schema. A record that has a name of its own is one field, which links to its page. */
export function fieldsOf(document: Document, schema: Schema, prefix = ""): Field[] {
  const object = resolve(document, schema);
  return Object.entries(object.properties ?? {}).flatMap(([key, property]) => {
    const name = `${prefix}${key}`;
    const field = {
      name,
      type: typeOf(document, property),
      required: object.required?.includes(key) ?? false,
      description: descriptionOf(property),
    };
    const inner = property.items ?? property;
    const nested = inner.$ref === undefined && inner.properties !== undefined;
    return nested ? [field, ...fieldsOf(document, inner, `${name}${property.items ? "[]" : ""}.`)] : [field];
  });
}

/** A nullable field's description stands beside `anyOf` or inside of it. */
function descriptionOf(schema: Schema): string {
  const inner = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])].map(({ description }) => description);
  const text = schema.description ?? schema.items?.description ?? inner.find((each) => each !== undefined) ?? "";
  const fallback = schema.default === undefined ? "" : ` By default \`${JSON.stringify(schema.default)}\`.`;
  return text === "A UUID." || text === "UTC, ISO 8601." ? fallback.trim() : text + fallback;
}

/** Describes a type in Markdown, with its bounds, and links to named records. */
export function typeOf(document: Document, schema: Schema): string {
  const name = refName(schema);
  if (name !== undefined) {
    const target = resolve(document, schema);
    return target.properties === undefined && target.anyOf === undefined
      ? typeOf(document, target)
      : `[${name}](/docs/reference/records#${name.toLowerCase()})`;
  }
  const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (alternatives) return [...new Set(alternatives.map((each) => typeOf(document, each)))].join(" or ");
  const values = schema.enum ?? schema["x-extensible-enum"];
  if (values) return values.map((value) => `\`${value}\``).join(", ");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  const types = [schema.type ?? "any"].flat();
  return types.map((type) => simpleType(document, type, schema)).join(" or ");
}

const formats: Record<string, string> = { uuid: "id", "date-time": "time", uri: "URL", email: "email address" };

function simpleType(document: Document, type: string, schema: Schema): string {
  if (type === "array")
    return `list of ${typeOf(document, schema.items ?? {})}${range(schema.minItems, schema.maxItems)}`;
  if (type === "string") {
    return `${formats[schema.format ?? ""] ?? "text"}${range(schema.minLength, schema.maxLength, " characters")}`;
  }
  if (type === "integer" || type === "number") return `${type}${range(schema.minimum, schema.maximum)}`;
  return type;
}

function range(least: number | undefined, most: number | undefined, unit = ""): string {
  const bounds = [least, most].map((bound) => bound?.toLocaleString("en-US"));
  // zod writes the bounds of safe integers, which say nothing.
  if (most !== undefined && most > 2 ** 52)
    return least === undefined || least < -(2 ** 52) ? "" : `, from ${bounds[0]}`;
  if (least !== undefined && most !== undefined)
    return least === most ? `, ${bounds[0]}${unit}` : `, ${bounds[0]} to ${bounds[1]}${unit}`;
  if (most !== undefined) return `, up to ${bounds[1]}${unit}`;
  return least === undefined || least === 0 ? "" : `, from ${bounds[0]}${unit}`;
}

/** An example of a schema: the one that it has, or one made from those of its fields. */
export function exampleOf(document: Document, schema: Schema, isInput = false): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.$ref !== undefined) return exampleOf(document, resolve(document, schema), isInput);
  const [first] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  if (first) return exampleOf(document, first, isInput);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const type = [schema.type ?? "object"].flat()[0];
  if (type === "object") {
    const shown = Object.entries(schema.properties ?? {}).filter(
      ([key, property]) => !isInput || schema.required?.includes(key) || property.example !== undefined,
    );
    return Object.fromEntries(shown.map(([key, property]) => [key, exampleOf(document, property, isInput)]));
  }
  if (type === "array") return [exampleOf(document, schema.items ?? {}, isInput)];
  if (type === "integer" || type === "number")
    return schema.minimum !== undefined && schema.minimum > 1 ? schema.minimum : 1;
  if (type === "boolean") return true;
  if (type === "null") return null;
  return (
    { uuid: "01939a1c-7c00-7000-8000-000000000001", "date-time": "2026-11-20T12:00:00.123456Z" }[schema.format ?? ""] ??
    "text"
  );
}
