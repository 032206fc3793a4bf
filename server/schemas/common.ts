import { z } from "zod";
import { must } from "./messages.ts";

/** Counts Unicode code points, as JSON Schema does: an emoji can have several. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Counts Unicode code points, where zod's own `min` and `max` count UTF-16 code units. */
function withLength<Schema extends z.ZodType<string, string>>(schema: Schema, min: number, max: number) {
  return schema
    .superRefine((text, { addIssue }) => {
      const actual = countCharacters(text);
      const limit = { origin: "string", inclusive: true, input: text, actual } as const;
      if (actual < min) addIssue({ ...limit, code: "too_small", minimum: min });
      if (actual > max) addIssue({ ...limit, code: "too_big", maximum: max });
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

const controlOrLineBreak = /[\p{Cc}\u2028\u2029]/u;
/** These can make a line read differently from what it says. Scripts and emoji need other invisible characters. */
const directionOverride = /[\u202a-\u202e\u2066-\u2069]/;

/** One line of text, such as a title: trimmed, without control characters or direction overrides, `min` to `max` code points. */
export const line = (min: number, max: number) =>
  withLength(
    z
      .string()
      .trim()
      .refine((text) => !controlOrLineBreak.test(text), { error: must("be one line without control characters") })
      .refine((text) => !directionOverride.test(text), {
        error: must("not contain direction overrides or isolates (U+202A to U+202E, U+2066 to U+2069)"),
      }),
    min,
    max,
  ).meta({ description: "One line, trimmed." });

/** Any text, kept as it was sent: `min` to `max` code points. */
export const text = (min: number, max: number) => withLength(z.string(), min, max);

/** A text that may be missing. An empty one becomes null, and both mean the same as a text that was left out. */
export const emptyableText = (max: number) =>
  text(0, max)
    .nullable()
    .transform((value) => value || null);

/** The largest value of the database's `integer`. */
export const MAX_INT32 = 2_147_483_647;

/** Lower-cased, as Postgres prints it, because ids are compared as text and are part of storage keys. */
export const Id = z.uuid().toLowerCase();

/** The ids of the records in examples, so that all examples tell one story. */
export const exampleIds = {
  user: "019aa1b2-0000-7000-8000-000000000001",
  bidder: "019aa1b2-0000-7000-8000-000000000002",
  task: "019aa1b2-0000-7000-8000-000000000003",
  bid: "019aa1b2-0000-7000-8000-000000000004",
  dispute: "019aa1b2-0000-7000-8000-000000000005",
  sample: "019aa1b2-0000-7000-8000-000000000006",
  delivery: "019aa1b2-0000-7000-8000-000000000007",
  rating: "019aa1b2-0000-7000-8000-000000000008",
  payout: "019aa1b2-0000-7000-8000-000000000009",
  "API key": "019aa1b2-0000-7000-8000-00000000000a",
  session: "019aa1b2-0000-7000-8000-00000000000b",
  "ledger entry": "019aa1b2-0000-7000-8000-00000000000c",
  "webhook endpoint": "019aa1b2-0000-7000-8000-00000000000d",
  "webhook delivery": "019aa1b2-0000-7000-8000-00000000000e",
  event: "019aa1b2-0000-7000-8000-00000000000f",
  "top-up": "019aa1b2-0000-7000-8000-000000000010",
  decision: "019aa1b2-0000-7000-8000-000000000011",
  "second factor": "019aa1b2-0000-7000-8000-000000000012",
  message: "019aa1b2-0000-7000-8000-000000000015",
  file: "019aa1b2-0000-7000-8000-000000000014",
  question: "019aa1b2-0000-7000-8000-000000000013",
  round: "019aa1b2-0000-7000-8000-000000000016",
  agreement: "019aa1b2-0000-7000-8000-000000000017",
  approval: "019aa1b2-0000-7000-8000-000000000018",
  "fee schedule": "019aa1b2-0000-7000-8000-00000000001a",
  "push subscription": "019aa1b2-0000-7000-8000-000000000018",
  notification: "019aa1b2-0000-7000-8000-000000000019",
  export: "019aa1b2-0000-7000-8000-00000000001b",
  receipt: "019aa1b2-0000-7000-8000-00000000001c",
} as const;

/** The id of a record of this kind. */
export const idOf = (kind: keyof typeof exampleIds, description = `The ${kind}'s id.`) =>
  Id.meta({ description, example: exampleIds[kind] });

/** Money as the database's `bigint`: a sum or a balance. Integer cents. */
export const Cents = z.int().min(-Number.MAX_SAFE_INTEGER).meta({ description: "Integer cents." });
/** Money as the database's `integer`: one price or amount. Integer cents. */
export const Price = z.int32().meta({ description: "Integer cents." });

/** A timestamp as the API prints it: UTC, six fractional digits. */
export const Timestamp = z.string().meta({ format: "date-time", example: "2026-11-20T12:00:00.123456Z" });

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

export const DEFAULT_PAGE_ROWS = 50;

/** A cursor is text in the document: programs would read a `date-time` as their own type of it, which loses microseconds. */
export const plainCursor = { format: undefined, maxLength: 64 } as const;

/**
 * The query of every list with a cursor: rows strictly older than `cursor`, newest first. The list itself is declared in
 * `server/store/cursorLists.ts`. Source: docs/contract.md "Conventions".
 */
export const PageQuery = z.strictObject({
  cursor: InputTimestamp.meta({
    ...plainCursor,
    description:
      "Returns the rows strictly older than this. Take it from the previous page's `nextCursor`; omit it for the first page.",
  }).optional(),
  limit: z.int().min(1).max(100).default(DEFAULT_PAGE_ROWS).meta({ description: "Rows per page." }),
});

export const NextCursor = z.string().nullable().meta({
  description: "Send it back as `cursor` for the next page, exactly as it is. Null if this is the last page.",
  example: "2026-11-20T12:00:00.123456Z",
});

/**
 * A list of some of `values`, each at most once: an array. A query string has one text with commas between the values, and
 * perhaps blanks after them; the OpenAPI document describes that by `listOf`.
 */
export const listOf = <Value extends string>(
  values: readonly Value[],
  description: string,
): z.ZodType<Value[], Value[]> => {
  const inQuery = new RegExp(`^(${values.join("|")})(, *(${values.join("|")}))*$`);
  const list = z
    .array(z.enum(values), { error: must(`be a list of: ${values.join(", ")}`) })
    .min(1)
    .max(values.length)
    .overwrite((given) => [...new Set(given)]);
  const split = (given: unknown) => (typeof given === "string" && inQuery.test(given) ? given.split(/, */) : given);
  return z
    .preprocess(split, list)
    .meta({ description, example: values.slice(0, 2), listOf: values }) as unknown as z.ZodType<Value[], Value[]>; // zod says that a preprocessed input is unknown
};

/** The public part of a user. */
export const Person = z
  .object({
    id: idOf("user"),
    displayName: z.string().meta({ description: "The name that the user has chosen.", example: "Ada" }),
  })
  .meta({ id: "Person", description: "The public part of a user." });
export type Person = z.infer<typeof Person>;
