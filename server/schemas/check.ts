import { z } from "zod";
import { Id, idOf, line, MAX_INT32, text } from "./common.ts";
import { must } from "./messages.ts";

/** Text, JSON and CSV are judged up to this size. Source: docs/contract.md "Checks of a delivery". */
export const MAX_JUDGED_BYTES = 10_000_000;
export const MAX_CHECKS = 10;
const MAX_SCHEMA_BYTES = 64_000;
const MAX_AFTER_MINUTES = 2_880;

const count = z.int().min(0).max(MAX_INT32);
const pixels = z.int().min(1).max(MAX_INT32);
const mimeType = z
  .string()
  .max(255)
  .regex(/^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*$/, {
    error: must("be a MIME type without parameters, such as application/pdf"),
  })
  .toLowerCase();

/** What a schema may refer to: its own parts. */
function hasOnlyLocalReferences(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) =>
    (key === "$ref" || key === "$dynamicRef") && typeof inner === "string"
      ? inner.startsWith("#")
      : hasOnlyLocalReferences(inner),
  );
}

const jsonSchema = z
  .record(z.string(), z.unknown())
  .refine((schema) => Buffer.byteLength(JSON.stringify(schema)) <= MAX_SCHEMA_BYTES, {
    error: must(`be at most ${MAX_SCHEMA_BYTES} bytes of JSON`),
  })
  .refine(hasOnlyLocalReferences, { error: must("refer only to its own parts, as in #/$defs/name") })
  .meta({
    description: "A JSON Schema, 2020-12, of at most 64 kB, whose `$ref` stay within it.",
    example: { type: "array", items: { type: "object", required: ["id"] } },
  });

/** What each kind of check looks at. Of kinds with bounds, at least one is needed. */
const shapes = {
  type: {
    types: z
      .array(mimeType)
      .min(1)
      .max(20)
      .meta({
        description:
          "The file must be one of these MIME types. Bytes tell most types; text has no signature, so text counts as what the bidder declares.",
        example: ["application/pdf"],
      }),
  },
  size: {
    minBytes: count.optional().meta({ description: "The least size, in bytes.", example: 1 }),
    maxBytes: count.optional().meta({ description: "The greatest size, in bytes.", example: 10_000_000 }),
  },
  text: {
    minCharacters: count.optional().meta({ description: "The least number of characters.", example: 100 }),
    maxCharacters: count.optional().meta({ description: "The greatest number of characters.", example: 5_000 }),
    contains: z
      .array(text(1, 500))
      .min(1)
      .max(20)
      .optional()
      .meta({ description: "Texts that must all occur, exactly.", example: ["Sources"] }),
    matches: text(1, 1_000).optional().meta({
      description: "A regular expression in RE2 syntax that must match anywhere.",
      example: "(?m)^# ",
    }),
  },
  json_schema: { schema: jsonSchema },
  csv: {
    columns: z
      .array(text(1, 200))
      .min(1)
      .max(200)
      .optional()
      .meta({ description: "The first row must be these names, in this order.", example: ["id", "name"] }),
    minRows: count.optional().meta({ description: "The least number of rows, without the first.", example: 1 }),
    maxRows: count.optional().meta({ description: "The greatest number of rows, without the first.", example: 1_000 }),
  },
  image: {
    minWidth: pixels.optional().meta({ description: "Pixels.", example: 800 }),
    maxWidth: pixels.optional().meta({ description: "Pixels.", example: 4_096 }),
    minHeight: pixels.optional().meta({ description: "Pixels.", example: 600 }),
    maxHeight: pixels.optional().meta({ description: "Pixels.", example: 4_096 }),
  },
  archive: {
    paths: z
      .array(text(1, 500))
      .min(1)
      .max(100)
      .meta({ description: "Names that the zip archive must have, exactly.", example: ["README.md"] }),
  },
  sha256: {
    sha256: z
      .string()
      .max(64)
      .regex(/^[0-9a-fA-F]{64}$/, { error: must("be 64 hexadecimal digits") })
      .toLowerCase()
      .meta({
        description: "The SHA-256 that the file must have, in hex.",
        example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      }),
  },
} as const;

const base = {
  name: line(1, 60).meta({ description: "Unique among the task's checks.", example: "A PDF" }),
  required: z
    .boolean()
    .meta({ description: "Whether it must pass before `acceptOnChecks` accepts a delivery.", example: true }),
} as const;

const hidden = z.boolean().optional().meta({
  description: "True: bidders see that there is this check, but no reasons before the task has ended.",
  example: false,
});

/** The kinds whose fields are bounds, of which one is enough. */
const bounded: readonly string[] = ["size", "text", "csv", "image"];
const ranges = [
  ["minBytes", "maxBytes"],
  ["minCharacters", "maxCharacters"],
  ["minRows", "maxRows"],
  ["minWidth", "maxWidth"],
  ["minHeight", "maxHeight"],
] as const;

/** Why the bounds of a check make no sense; null if they do. */
function faultOfBounds(check: { kind: string } & Record<string, unknown>): string | null {
  const { kind, name: _, required: __, ...bounds } = check;
  if (bounded.includes(kind) && Object.values(bounds).every((bound) => bound === undefined)) return "needs a bound.";
  const crossed = ranges.find(([min, max]) => Number(check[min] ?? 0) > Number(check[max] ?? Number.POSITIVE_INFINITY));
  return crossed === undefined ? null : `${crossed[0]} must be at most ${crossed[1]}.`;
}

type Kind = keyof typeof shapes;
const kindOf = <const Name extends Kind | "external">(kind: Name) =>
  z.literal(kind).meta({ description: "What is checked." });
const nameOf = (kind: Kind) =>
  ({ json_schema: "JsonSchema", sha256: "Sha256", csv: "Csv" })[kind as string] ??
  `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;

const given = <const Name extends Kind>(kind: Name) =>
  z
    .strictObject({ ...base, kind: kindOf(kind), ...shapes[kind] })
    .meta({ id: `New${nameOf(kind)}Check`, description: `A check of the kind \`${kind}\`.` });
const shown = <const Name extends Kind>(kind: Name) =>
  z
    .object({ ...base, kind: kindOf(kind), ...shapes[kind] })
    .meta({ id: `${nameOf(kind)}Check`, description: `A check of the kind \`${kind}\`.` });

/** A check that the service itself does. */
export const BuiltInCheck = z.discriminatedUnion("kind", [
  shown("type"),
  shown("size"),
  shown("text"),
  shown("json_schema"),
  shown("csv"),
  shown("image"),
  shown("archive"),
  shown("sha256"),
]);
export type BuiltInCheck = z.infer<typeof BuiltInCheck>;

const ExternalCheck = z
  .object({
    ...base,
    kind: kindOf("external"),
    keyId: idOf(
      "API key",
      "The API key that reports. For the buyer, where the task is read or its checks are set.",
    ).optional(),
    hidden,
  })
  .meta({ id: "ExternalCheck", description: "A check that the buyer's own program does, and reports." });

/** A check as a task shows it. */
export const Check = z
  .discriminatedUnion("kind", [...BuiltInCheck.options, ExternalCheck])
  .meta({ id: "Check", description: "How a delivery is judged in one respect; `kind` says which fields it has." });
export type Check = z.infer<typeof Check>;
export type CheckKind = Check["kind"];
export const isBuiltIn = (check: Check): check is BuiltInCheck => check.kind !== "external";

/** A check as a buyer sets it. */
const NewCheck = z
  .discriminatedUnion("kind", [
    given("type"),
    given("size"),
    given("text"),
    given("json_schema"),
    given("csv"),
    given("image"),
    given("archive"),
    given("sha256"),
    z
      .strictObject({
        ...base,
        kind: kindOf("external"),
        keyId: Id.meta({
          description: "One of your API keys with `check:write`, which reports.",
          example: idOf("API key").meta()?.example,
        }),
        hidden,
      })
      .meta({ id: "NewExternalCheck", description: "A check that your own program does, and reports." }),
  ])
  .superRefine((check, { addIssue }) => {
    const message = faultOfBounds(check);
    if (message !== null) addIssue({ code: "custom", message, input: check });
  })
  .meta({ id: "NewCheck", description: "A check to agree on; `kind` says which fields it has." });
export type NewCheck = z.infer<typeof NewCheck>;

/** The checks of a task as a buyer sets them. Source: docs/contract.md "Checks of a delivery". */
const checksInput = {
  checks: z
    .array(NewCheck)
    .max(MAX_CHECKS)
    .refine((checks) => new Set(checks.map(({ name }) => name)).size === checks.length, {
      error: must("have different names"),
    })
    .meta({
      description: "How a delivery is judged, at once. Bidders see it before they bid. None by default.",
      example: [{ name: "A PDF", required: true, kind: "type", types: ["application/pdf"] }],
    }),
  acceptOnChecks: z
    .strictObject({
      afterMinutes: z.int().min(0).max(MAX_AFTER_MINUTES).meta({
        description: "How long you can still look, after the last required check has passed.",
        example: 60,
      }),
    })
    .meta({ id: "NewAcceptOnChecks", description: "When the task is accepted because its checks have passed." })
    .nullable()
    .meta({
      description:
        "Accepts a delivery that many minutes after its last required check has passed, unless you have accepted, disputed or asked for changes before. Null, the default, for never.",
      example: null,
    }),
} as const;

/** Both, which create and change take. */
export const optionalChecks = {
  checks: checksInput.checks.optional(),
  acceptOnChecks: checksInput.acceptOnChecks.optional(),
};

export const AcceptOnChecks = z
  .object({
    afterMinutes: z.int32().meta({ description: "Minutes after the last required check has passed.", example: 60 }),
  })
  .meta({ id: "AcceptOnChecks", description: "When the task is accepted because its checks have passed." });

/** The bytes of a file on which checks are tried before they are part of a task. Larger ones do not fit into a request. */
export const triedContent = z
  .string()
  .min(4)
  .max(200_000)
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, { error: must("be base64") })
  .meta({ description: "The file in base64, of at most 150 kB.", example: "aGVsbG8sIHdvcmxk" });
