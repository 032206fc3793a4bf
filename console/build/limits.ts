import { globSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const makers = { "virtual:limits": limitsOf, "virtual:options": optionsOf, "virtual:events": eventWordsOf };

interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  enum?: string[];
  const?: string;
  description?: string;
}

interface Operation {
  operationId?: string;
  parameters?: { name?: string; schema?: Schema; required?: boolean }[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

/**
 * Provides `virtual:limits`, the limits of every operation's fields, `virtual:options`, the values that fields may have, which only
 * pages for developers show, and `virtual:events`, when each event happens, as the API document states them, so that forms repeat
 * none by hand. Only these are taken, because the document itself is larger than the console.
 */
export function limits(document: URL): Plugin {
  return {
    name: "limits-of-the-api-document",
    resolveId: (id) => (id in makers ? `\0${id}` : null),
    async load(id) {
      const make = Object.entries(makers).find(([name]) => id === `\0${name}`)?.[1];
      if (make === undefined) return null;
      this.addWatchFile(fileURLToPath(document));
      const parsed: Document = JSON.parse(await readFile(document, "utf8"));
      return `export default ${JSON.stringify(make(parsed))};`;
    },
  };
}

/** The operations that a form of the console is for: the limits of all were 6 % of what pages share. */
function operationsOfForms(): Set<string> {
  const folder = join(import.meta.dirname, "../src");
  const sources = globSync("**/*.{ts,tsx}", { cwd: folder }).map((path) => readFileSync(join(folder, path), "utf8"));
  const found = sources.flatMap((source) => [...source.matchAll(/\b(?:operation="|limitsOf\(")(\w+\.\w+)"/g)]);
  return new Set(found.map(([, name = ""]) => name));
}

type ByField = Record<string, Record<string, unknown>>;

/** Returns the limits by operation, under its name over typed RPC, and field. */
function limitsOf(document: Document): ByField {
  return byField(document, ({ minLength, maxLength, minimum, maximum, maxItems }) => ({
    ...{ minLength, maxLength, minimum, maximum, maxItems },
  }));
}

/** Returns the values that fields may have, of those that have only some. */
function optionsOf(document: Document): ByField {
  return byField(document, (schema, resolve) => schema.enum ?? (schema.items && resolve(schema.items).enum));
}

function byField(
  { paths, components = {} }: Document,
  of: (schema: Schema, resolve: (schema: Schema) => Schema) => unknown,
): ByField {
  const resolve = (schema: Schema): Schema => {
    const target = schema.$ref?.split("/").at(-1);
    if (target !== undefined) return resolve(components.schemas?.[target] ?? {});
    // A nullable field: what it may be besides null.
    const [first] = schema.anyOf ?? schema.allOf ?? [];
    return first === undefined ? schema : { ...resolve(first), ...schema };
  };
  const found: ByField = {};
  const used = operationsOfForms();
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const name = operation.operationId?.replace("_", ".");
    if (name === undefined || !used.has(name)) continue;
    const body = resolve(operation.requestBody?.content["application/json"]?.schema ?? {});
    const fields: Record<string, unknown> = {};
    for (const { name, schema = {} } of operation.parameters ?? []) {
      if (name !== undefined) fields[name] = of(resolve(schema), resolve);
    }
    for (const [field, schema] of Object.entries(body.properties ?? {})) {
      fields[field] = of(resolve(schema), resolve);
      // The form of a task that is posted and paid is that of `tasks.create`.
      if (field === "forTask") continue;
      for (const [inner, innerSchema] of Object.entries(resolve(schema).properties ?? {})) {
        fields[`${field}.${inner}`] = of(resolve(innerSchema), resolve);
      }
    }
    found[name] = fields;
  }
  return found;
}

/** Returns when each event happens and whom it concerns, by its type. */
function eventWordsOf({ components = {} }: Document): Record<string, string> {
  const words: Record<string, string> = {};
  for (const { properties, description = "" } of Object.values(components.schemas ?? {})) {
    const [, when] = /^Happens when (.+)$/.exec(description) ?? [];
    if (when !== undefined && properties?.type?.const) words[properties.type.const] = `When ${when}`;
  }
  return words;
}
