import { z } from "zod";

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const printableAscii = /^[\x20-\x7e]*$/;

/** How many characters a person counts: an emoji or a letter with its accents is one. */
export function countCharacters(text: string): number {
  if (printableAscii.test(text)) return text.length;
  let count = 0;
  for (const _ of segmenter.segment(text)) count++;
  return count;
}

/** For the document. JSON Schema counts code points, of which a character has one or more: so it can say `min` only. */
const bounds = (min: number, max: number) => ({
  description: `${min === 0 ? "At most" : `${min} to`} ${max.toLocaleString("en")} characters, as a person counts them.`,
  ...(min > 0 && { minLength: min }),
});

/**
 * One character, as a person counts, may carry any number of combining marks. The longest that people use (a family, a
 * flag) have 15 UTF-16 units; more than this a character is no text, and would not fit the database's indexes.
 */
export const MAX_UNITS_PER_CHARACTER = 16;

function withLength<Schema extends z.ZodType<string, string>>(schema: Schema, min: number, max: number) {
  return schema.superRefine((text, context) => {
    if (text.length > max * MAX_UNITS_PER_CHARACTER) {
      context.addIssue({ code: "custom", message: `At most ${max} characters are allowed.` });
      return;
    }
    const count = countCharacters(text);
    if (count < min) context.addIssue({ code: "custom", message: `At least ${min} characters are needed.` });
    if (count > max)
      context.addIssue({ code: "custom", message: `At most ${max} characters are allowed, not ${count}.` });
  });
}

const controlOrLineBreak = /[\p{Cc}\u2028\u2029]/u;

/** Text of one line, such as a title, without control characters: trimmed, then `min` to `max` characters as people count them. */
export const line = (min: number, max: number) =>
  withLength(
    z
      .string()
      .trim()
      .refine((text) => !controlOrLineBreak.test(text), { message: "One line without control characters is needed." }),
    min,
    max,
  ).meta(bounds(min, max));

/** Text of any shape, kept as it is: `min` to `max` characters as people count them. */
export const text = (min: number, max: number) => withLength(z.string(), min, max).meta(bounds(min, max));

/** The largest 32-bit integer: more does not fit the database's `integer`. */
export const MAX_INT32 = 2_147_483_647;

/** In lower case, as Postgres prints it: ids are compared, and stand in storage keys. */
export const Id = z.uuid().toLowerCase().meta({ description: "A UUID." });
export const Cents = z.int().min(-Number.MAX_SAFE_INTEGER).meta({ description: "Integer cents." });

/** A moment as the API prints it: UTC, six fractional digits. */
export const Timestamp = z
  .string()
  .meta({ description: "UTC, ISO 8601.", format: "date-time", example: "2026-11-20T12:00:00.123456Z" });

/** A moment of our own clock in that form. */
export const timestampOf = (date: Date): string => date.toISOString().replace("Z", "000Z");

export const Currency = "usd";

const timestampPattern = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/;

/** What both JavaScript and Postgres read as one and the same moment: a day that exists, a year from 1, a zone on Earth. */
function isTimestamp(text: string): boolean {
  const day = timestampPattern.exec(text)?.[1];
  if (day === undefined || day < "0001" || Number.isNaN(Date.parse(text))) return false;
  // Date.parse reads February 30 as March 2.
  return new Date(day).toISOString().startsWith(day);
}

/** A moment as a client sends it back. */
export const InputTimestamp = z
  .string()
  .refine(isTimestamp, { message: "An ISO 8601 timestamp is needed, as in 2026-11-20T12:00:00.123456Z." })
  .meta({ description: "ISO 8601 timestamp.", format: "date-time", example: "2026-11-20T12:00:00.123456Z" });

/** The input of what takes none: an unknown field is refused here, too. */
export const NoInput = z.strictObject({}).optional();

/**
 * The query of every list that is walked by cursor: rows strictly older than `cursor`, newest first. The list itself is
 * declared in `server/store/cursorLists.ts`. Source: docs/contract.md "Conventions".
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
      message: `A comma-separated list of: ${values.join(", ")}.`,
    })
    .meta({ description: `A comma-separated list of: ${values.join(", ")}.`, example: values.slice(0, 2).join(",") });

/** What other people see of a user. */
export const Person = z.object({ id: Id, displayName: z.string() }).meta({ id: "Person" });
export type Person = z.infer<typeof Person>;
