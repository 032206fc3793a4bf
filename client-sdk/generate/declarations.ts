import { z } from "zod";
import { documentation } from "./documentation.ts";
import { describeLimits, type Limits } from "./limits.ts";

export type Direction = "input" | "output";

/** The part of JSON Schema that zod writes for our schemas. */
export interface Schema extends Omit<Limits, "items"> {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  /** A schema for an object with any fields; `false` for one without others. */
  additionalProperties?: boolean | Schema;
  description?: string;
}

const scalars: Record<string, string> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

/** Turns zod schemas into TypeScript: named schemas into named declarations, the others into types where they are used. */
export class Declarations {
  readonly #declared = new Map<string, { text: string; schema: Schema; direction: Direction }>();

  /** Declares a schema under its own name or, without one, under `fallback`. Returns the name. */
  declare(schema: z.ZodType, fallback: string, direction: Direction): string {
    const json = toSchema(schema, direction);
    this.#declareAll(json.$defs, direction);
    if (json.$ref !== undefined) return nameOf(json.$ref);
    this.#add(fallback, json, direction);
    return fallback;
  }

  /** All declarations in the order of their names. */
  get all(): { name: string; text: string; schema: Schema; direction: Direction }[] {
    return [...this.#declared]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, declaration]) => ({ name, ...declaration }));
  }

  /** All declarations, in TypeScript. */
  print(): string {
    return this.all
      .map(({ name, text, schema: { description } }) => {
        const declaration = text.startsWith("{") ? `interface ${name} ${text}` : `type ${name} = ${text};`;
        return `${documentation([description])}export ${declaration}\n`;
      })
      .join("\n");
  }

  #declareAll(definitions: Record<string, Schema> = {}, direction: Direction): void {
    for (const [name, schema] of Object.entries(definitions)) this.#add(name, schema, direction);
  }

  #add(name: string, schema: Schema, direction: Direction): void {
    const text = typeText(schema, direction);
    const known = this.#declared.get(name);
    if (known !== undefined && known.text !== text) throw new Error(`two different schemas are called ${name}`);
    this.#declared.set(name, { text, schema, direction });
  }
}

/** The type of an array's items in an object schema, such as `TaskListItem` for `tasks`. */
export function itemType(schema: z.ZodType, field: string): string {
  const json = toSchema(schema, "output");
  const object = json.$ref === undefined ? json : json.$defs?.[nameOf(json.$ref)];
  const items = object?.properties?.[field]?.items;
  if (items === undefined) throw new Error(`${field} is not a list`);
  return typeText(items, "output");
}

function toSchema(schema: z.ZodType, direction: Direction): Schema {
  return z.toJSONSchema(schema, { io: direction }) as Schema; // zod's own type allows more keywords than it writes here
}

export const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1);

function typeText(schema: Schema, direction: Direction): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((choice) => typeText(choice, direction)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.items !== undefined) return arrayText(typeText(schema.items, direction));
  if (schema.type === "object") return objectText(schema, direction);
  const types = [schema.type ?? []].flat().map((type) => scalars[type]);
  if (types.length === 0 || types.includes(undefined)) throw new Error(`no TypeScript for ${JSON.stringify(schema)}`);
  return types.join(" | ");
}

const arrayText = (item: string): string => (/^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`);

function objectText({ properties = {}, required = [], additionalProperties }: Schema, direction: Direction): string {
  if (typeof additionalProperties === "object") return "Record<string, unknown>";
  if (Object.keys(properties).length === 0) return "Record<string, never>";
  const fields = Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name);
    // Callers with `exactOptionalPropertyTypes` may pass undefined, which JSON leaves out.
    const orUndefined = isRequired || direction === "output" ? "" : " | undefined";
    const type = typeText(schema, direction);
    return `${documentation([descriptionOf(schema)])}${name}${isRequired ? "" : "?"}: ${type}${orUndefined};`;
  });
  return `{\n${fields.join("\n")}\n}`;
}

/** What every field of this name or type has is not worth a line on each. */
const commonplace = /^(The [\w -]+'s id|UTC, ISO 8601|ISO 8601 timestamp|One line, trimmed)\.$/;

/** A nullable field's description and limits can be in the first of its alternatives. A reference's are at its own declaration. */
export function descriptionOf(schema: Schema): string {
  const first = schema.anyOf?.[0];
  const text = schema.description ?? first?.description;
  const isWorthIt = text !== undefined && !commonplace.test(text);
  return [isWorthIt ? text : "", describeLimits({ ...first, ...schema })].filter((part) => part !== "").join(" ");
}
