/** What JSON Schema says about a value beside its type, as zod writes it. */
export interface Limits {
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Limits;
  default?: unknown;
}

/** Of the formats that a field's name does not say: `…Id` and `email` need no words. */
const formats: Record<string, string> = { "date-time": "ISO 8601.", uri: "A URL." };

const MAX_INT32 = 2 ** 31 - 1;

/** A field's format, limits and default in short sentences, or an empty text if there is nothing to say. */
export function describeLimits(schema: Limits): string {
  const { minimum, maximum = Infinity } = schema;
  return [
    formats[schema.format ?? ""],
    sentence(range(schema.minLength, schema.maxLength, "characters")),
    sentence(rangeOfItems(schema)),
    // The end of a number's type is no limit.
    sentence(range(minimum, maximum < MAX_INT32 ? maximum : undefined)),
    typeof schema.default === "number" ? `Default: ${schema.default}.` : "",
  ]
    .filter((part) => part)
    .join(" ");
}

function rangeOfItems({ minItems, maxItems, items }: Limits): string {
  const count = range(minItems, maxItems, "items");
  const length = range(items?.minLength, items?.maxLength, "characters");
  return count !== "" && length !== "" ? `${count} of ${length}` : count;
}

/** `1 to 80 characters`, `up to 20 items`, `from 500`, or nothing. A lower bound of 0 is worth no words without an upper one. */
function range(least = 0, most?: number, unit = ""): string {
  const [from, to] = [least, most].map((bound) => bound?.toLocaleString("en"));
  const text =
    most === undefined
      ? least > 0
        ? `from ${from}`
        : ""
      : least > 0 || unit === ""
        ? `${from} to ${to}`
        : `up to ${to}`;
  return text === "" ? "" : `${text} ${unit}`.trim();
}

const sentence = (text: string): string => (text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
