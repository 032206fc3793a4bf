import { nameOf, type Schema } from "../declarations.ts";

/** A record inside another one, which has no name of its own in the service. */
export interface InnerRecord {
  name: string;
  schema: Schema;
}

export interface Annotation {
  text: string;
  isNullable: boolean;
}

const scalars: Record<string, string> = { string: "str", integer: "int", number: "float", boolean: "bool" };

/**
 * The type of a field in Python. `place` names a record that is written where it is used; `inner` collects these. What the
 * service answers may be newer than the client: an enum of an output also takes any other text.
 */
export function annotationOf(schema: Schema, place: string, direction: Direction, inner: InnerRecord[]): Annotation {
  const choices = (schema.anyOf ?? schema.oneOf ?? [schema]).flatMap((choice) =>
    [choice.type ?? []].flat().length > 1
      ? [choice.type].flat().map((type) => ({ ...choice, type }) as Schema)
      : [choice],
  );
  const texts = choices
    .filter(({ type }) => type !== "null")
    .map((choice) => textOf({ format: schema.format, ...choice }, place, direction, inner));
  return { text: [...new Set(texts)].join(" | "), isNullable: choices.some(({ type }) => type === "null") };
}

type Direction = "input" | "output";

function textOf(schema: Schema, place: string, direction: Direction, inner: InnerRecord[]): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (values?.every((value) => typeof value === "string")) {
    const literal = `Literal[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
    return direction === "input" || schema.const !== undefined ? literal : `${literal} | str`;
  }
  if (schema.items !== undefined) {
    const { text } = annotationOf(schema.items, `${place}Item`, direction, inner);
    return direction === "input" ? `Sequence[${text}]` : `list[${text}]`;
  }
  if (schema.type === "object" && typeof schema.additionalProperties === "object") return "dict[str, Any]";
  if (schema.type === "object") {
    inner.push({ name: place, schema });
    return place;
  }
  const type = values === undefined ? String(schema.type) : typeof values[0];
  const text = scalars[type === "number" && values !== undefined ? "integer" : type];
  if (text === undefined) throw new Error(`no Python for ${JSON.stringify(schema)}`);
  if (schema.format !== "date-time") return text;
  return direction === "input" ? "datetime | str" : "datetime";
}

const keywords = new Set([
  "and",
  "as",
  "async",
  "await",
  "class",
  "def",
  "from",
  "global",
  "import",
  "in",
  "is",
  "not",
  "or",
  "pass",
  "raise",
  "return",
  "with",
  "yield",
]);
/** What pydantic's models have themselves. */
const taken = new Set(["copy", "dict", "json", "schema", "validate", "construct"]);

/** `priceCents` is `price_cents` in Python. The client turns it back, so no name may be lost on the way. */
export function snakeCase(name: string): string {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const back = snake.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  if (back !== name) throw new Error(`${name} has no name in Python that leads back to it`);
  return keywords.has(snake) || taken.has(snake) ? `${snake}_` : snake;
}
