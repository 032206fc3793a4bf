import { z } from "zod";
import { must } from "./messages.ts";

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const printableAscii = /^[\x20-\x7e]*$/;

/** Counts characters as a person does: an emoji, or a letter with its accents, is one. */
function countCharacters(text: string): number {
  if (printableAscii.test(text)) return text.length;
  let count = 0;
  for (const _ of segmenter.segment(text)) count++;
  return count;
}

/** For the OpenAPI document. JSON Schema counts code points, of which a character can have several: so no `maxLength`. */
const bounds = (min: number, max: number) => ({
  description: `${min === 0 ? "At most" : `${min} to`} ${max.toLocaleString("en")} characters, as a person counts them.`,
  ...(min > 0 && { minLength: min }),
});

/**
 * A character, as a person counts it, can carry any number of combining marks. The longest in use (a family, a flag) have
 * 15 UTF-16 code units; longer ones are not text, and would not fit into the database's indexes.
 */
export const MAX_UNITS_PER_CHARACTER = 16;

function withLength<Schema extends z.ZodType<string, string>>(schema: Schema, min: number, max: number) {
  return schema.superRefine((text, { addIssue }) => {
    const limit = { origin: "string", inclusive: true, input: text } as const;
    if (text.length > max * MAX_UNITS_PER_CHARACTER) {
      addIssue({ ...limit, code: "too_big", maximum: max });
      return;
    }
    const actual = countCharacters(text);
    if (actual < min) addIssue({ ...limit, code: "too_small", minimum: min, actual });
    if (actual > max) addIssue({ ...limit, code: "too_big", maximum: max, actual });
  });
}

const controlOrLineBreak = /[\p{Cc}\u2028\u2029]/u;

/** One line of text, such as a title: trimmed, without control characters, `min` to `max` characters as people count them. */
export const line = (min: number, max: number) =>
  withLength(
    z
      .string()
      .trim()
      .refine((text) => !controlOrLineBreak.test(text), { error: must("be one line without control characters") }),
    min,
    max,
  ).meta(bounds(min, max));

/** Any text, kept as it was sent: `min` to `max` characters as people count them. */
export const text = (min: number, max: number) => withLength(z.string(), min, max).meta(bounds(min, max));

/** The largest value of the database's `integer`. */
export const MAX_INT32 = 2_147_483_647;

/** Lower-cased, as Postgres prints it, because ids are compared as text and are part of storage keys. */
export const Id = z.uuid().toLowerCase().meta({ description: "A UUID." });
export const Cents = z.int().min(-Number.MAX_SAFE_INTEGER).meta({ description: "Integer cents." });

/** A timestamp as the API prints it: UTC, six fractional digits. */
export const Timestamp = z
  .string()
  .meta({ description: "UTC, ISO 8601.", format: "date-time", example: "2026-11-20T12:00:00.123456Z" });

/** Formats a time of our own clock as a `Timestamp`. */
export const timestampOf = (date: Date): string => date.toISOString().replace("Z", "000Z");

export const Currency = "usd";

const timestampPattern = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/;

/** True for text that JavaScript and Postgres read as the same time: an existing day, a year from 1, a real time zone. */
function isTimestamp(text: string): boolean {
  const day = timestampPattern.exec(text)?.[1];
  if (day === undefined || day < "0001" || Number.isNaN(Date.parse(text))) return false;
  // Date.parse reads February 30 as March 2.
  return new Date(day).toISOString().startsWith(day);
}

/** A timestamp as clients send it. */
export const InputTimestamp = z
  .string()
  .refine(isTimestamp, { error: must("be an ISO 8601 timestamp, such as 2026-11-20T12:00:00.123456Z") })
  .meta({ description: "ISO 8601 timestamp.", format: "date-time", example: "2026-11-20T12:00:00.123456Z" });

/** The input of a procedure that takes none. Unknown fields are refused here as well. */
export const NoInput = z.strictObject({}).optional();

/**
 * The query of every list with a cursor: rows strictly older than `cursor`, newest first. The list itself is declared in
 * `server/store/cursorLists.ts`. Source: docs/contract.md "Conventions".
 */
export const PageQuery = z.strictObject({
  cursor: InputTimestamp.meta({
    description:
      "Returns the rows strictly older than this. Take it from the previous page's `nextCursor`; omit it for the first page.",
  }).optional(),
  limit: z.int().min(1).max(100).default(50).meta({ description: "Rows per page." }),
});

export const NextCursor = z
  .string()
  .nullable()
  .meta({ format: "date-time", description: "`createdAt` of the last row, or null if this is the last page." });

/** A comma-separated list of `values`, as the query parameter `status` takes it. */
export const listOf = (values: readonly string[]) =>
  z
    .string()
    .regex(new RegExp(`^(${values.join("|")})(,(${values.join("|")}))*$`), {
      error: must(`be a comma-separated list of: ${values.join(", ")}`),
    })
    .meta({ description: `A comma-separated list of: ${values.join(", ")}.`, example: values.slice(0, 2).join(",") });

/** The public part of a user. */
export const Person = z.object({ id: Id, displayName: z.string() }).meta({ id: "Person" });
export type Person = z.infer<typeof Person>;
