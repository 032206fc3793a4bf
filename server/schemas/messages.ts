import { z } from "zod";

type Issue = z.core.$ZodRawIssue;

/** The fields that REST takes from the path, by input schema: they are not allowed in a body or query. */
export const pathFields = z.registry<{ names: readonly string[] }>();

/** A field's name in a message or an issue's path is cut after this many bytes of JSON: a client may have chosen it. */
const MAX_NAME_BYTES = 100;

/** Returns a name, cut between two characters if necessary, and then with an ellipsis. */
export function shortName(name: string): string {
  let bytes = 0;
  let length = 0;
  for (const character of name) {
    // A control character has up to six bytes in JSON, and one beyond ASCII up to four.
    bytes += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > MAX_NAME_BYTES) return `${name.slice(0, length)}…`;
    length += character.length;
  }
  return name;
}

/** Returns the subject of a message's sentence: the field, or the input as a whole. */
function subjectOf({ path = [] }: { path?: PropertyKey[] | undefined }): string {
  return path.length === 0 ? "The input" : `\`${shortName(path.map(String).join("."))}\``;
}

/** The message of a refinement, as in `refine(isEven, { error: must("be even") })`: "`count` must be even." */
export const must = (predicate: string) => (issue: { path?: PropertyKey[] | undefined }) =>
  `${subjectOf(issue)} must ${predicate}.`;

/**
 * Returns a sentence that names the field, what is wrong with it and what is allowed instead, for zod issues that bring no
 * message. It never repeats a value that a client sent. Returns undefined to leave the message to zod.
 */
function describeIssue(issue: Issue): string | undefined {
  if (issue.code === "unrecognized_keys") return describeUnknownField(issue.inst);
  if (issue.code === "custom") return undefined;
  if (issue.input === undefined) return `${subjectOf(issue)} is required.`;
  const predicate = predicateOf(issue);
  return predicate === undefined ? `${subjectOf(issue)} is not valid.` : must(predicate)(issue);
}

z.config({ customError: describeIssue });

function describeUnknownField(schema: unknown): string {
  const inPath = schema instanceof z.core.$ZodType ? (pathFields.get(schema)?.names ?? []) : [];
  const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const allowed = fields.filter((name) => !inPath.includes(name));
  return `Unknown field. ${allowed.length > 0 ? `Allowed here: ${allowed.join(", ")}.` : "No fields are allowed here."}`;
}

function predicateOf(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return `be ${nounOf(issue)}`;
    case "invalid_value":
      return `be ${issue.values.length === 1 ? "" : "one of: "}${issue.values.map(String).join(", ")}`;
    case "too_small":
    case "too_big":
      if (issue.origin === "string" || issue.origin === "array") return sizeOf(issue);
      return `be ${numberOf(issue.schema)}`;
    case "invalid_format":
      return formats[issue.format] && `be ${formats[issue.format]}`;
    case "not_multiple_of":
      return `be a multiple of ${issue.divisor}`;
    case "invalid_union":
      return unionOf(issue);
    default:
      return undefined;
  }
}

const nouns: Record<string, string> = {
  array: "an array",
  boolean: "true or false",
  null: "null",
  object: "an object",
  record: "an object",
  string: "a string",
};

const formats: Record<string, string> = {
  datetime: "an ISO 8601 timestamp",
  email: "a valid email address",
  url: "a URL",
  uuid: "a UUID",
};

function nounOf({ expected, schema, input }: Issue & { code: "invalid_type" }): string {
  const isNumber = expected === "number" || expected === "int";
  const noun = isNumber ? numberOf(schema) : (nouns[expected] ?? `a valid ${expected}`);
  // The input is a number, but not an integer; or text in a query, which arrives as NaN: its type would only confuse.
  return isNumber && typeof input === "number" ? noun : `${noun}, not ${typeName(input)}`;
}

/** Returns the JSON type of a value with its article, such as "an array". */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const withCommas = (value: unknown) => Number(value).toLocaleString("en");

/** Describes a number schema, as in "an integer from 1 to 100". */
function numberOf(schema: unknown): string {
  if (!(schema instanceof z.ZodNumber)) return "a number";
  const noun = schema.format?.includes("int") ? "an integer" : "a number";
  const min = schema.minValue ?? Number.NEGATIVE_INFINITY;
  const max = schema.maxValue ?? Number.POSITIVE_INFINITY;
  // zod limits every integer to the safe range; those limits are not worth a mention.
  const hasMin = min > Number.MIN_SAFE_INTEGER;
  const hasMax = max < Number.MAX_SAFE_INTEGER;
  if (hasMin && hasMax) return `${noun} from ${withCommas(min)} to ${withCommas(max)}`;
  if (hasMin) return `${noun} of at least ${withCommas(min)}`;
  return hasMax ? `${noun} of at most ${withCommas(max)}` : noun;
}

function sizeOf(issue: Issue & { code: "too_small" | "too_big" }): string {
  const [limit, bound] = issue.code === "too_small" ? [issue.minimum, "at least"] : [issue.maximum, "at most"];
  const unit = issue.origin === "array" ? "item" : "character";
  const actual = Array.isArray(issue.input) ? issue.input.length : issue.actual;
  if ((actual === 0 || issue.input === "") && Number(limit) === 1) return "not be empty";
  const tail = actual === undefined ? "" : `, not ${withCommas(actual)}`;
  return `have ${bound} ${withCommas(limit)} ${unit}${Number(limit) === 1 ? "" : "s"}${tail}`;
}

/** Names the alternatives when each is a plain type. */
function unionOf({ errors, input }: Issue & { code: "invalid_union" }): string | undefined {
  const expected = errors.map(([first]) => (first?.code === "invalid_type" ? first.expected : undefined));
  if (expected.length === 0 || expected.includes(undefined)) return undefined;
  const options = expected.map((type) => nouns[String(type)] ?? (type === "int" ? "an integer" : `a ${type}`));
  return `be ${options.join(" or ")}, not ${typeName(input)}`;
}
