import fc from "fast-check";

/** The id of a record of the seeded world, resolved when the request is sent: the `nth` of its kind. */
export class Known {
  readonly pool: string;
  readonly nth: number;

  constructor(pool: string, nth: number) {
    this.pool = pool;
    this.nth = nth;
  }
}

/** Two ids that belong together, such as a task and its bid, have the same place in two pools: those of the path they are for. */
export const pairPool = (path: string, place: "first" | "second") => `${place} of ${path}`;

/** JSON text that `JSON.stringify` would never write. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Serialises a value with its known ids and raw parts. */
export function writeJson(value: unknown, resolve: (known: Known) => string): string {
  if (value instanceof RawJson) return value.text;
  if (value instanceof Known) return JSON.stringify(resolve(value));
  if (Array.isArray(value)) return `[${value.map((item) => writeJson(item, resolve)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${writeJson(inner, resolve)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** Writes an object's members in the given order, repeated names included. */
export function writeObject(
  entries: readonly (readonly [string, unknown])[],
  resolve: (known: Known) => string,
): string {
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${writeJson(value, resolve)}`).join(",")}}`;
}

export const known = (pool: string) => fc.nat({ max: 10_000 }).map((nth) => new Known(pool, nth));

/** Ids that name nothing, and text that is no id at all. */
export const wrongIds = fc.constantFrom<unknown>(
  "00000000-0000-0000-0000-000000000000",
  "01890000-0000-7000-8000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "nonsense",
  "",
  "1",
  "'; DROP TABLE tasks; --",
  "01890000-0000-7000-8000-00000000000",
  "{01890000-0000-7000-8000-000000000000}",
  "01890000-0000-7000-8000-000000000000 ",
  "..",
  "null",
  "\0",
  "💸",
  "a".repeat(300),
);

const deep = (open: string, close: string, inner: string) =>
  fc.constantFrom(2, 20, 33, 65, 500, 500).map((depth) => {
    return new RawJson(open.repeat(depth) + inner + close.repeat(depth));
  });

/** Nested arrays and objects, with broken text at every level. */
export const deepValues: fc.Arbitrary<unknown> = fc.oneof(
  deep("[", "]", ""),
  deep('{"a":', "}", "1"),
  deep('["\\u0000",', "]", "0"),
  deep('{"\\u0000":"\\ud800","b":', "}", "null"),
  fc.constantFrom(10, 1_000, 30_000).map((count) => new RawJson(`[${Array(count).fill('"\\u0000"').join(",")}]`)),
  fc.constantFrom(10, 1_000, 20_000).map((count) => {
    return new RawJson(`{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(",")}}`);
  }),
);

/** Any code points, unpaired surrogates included. (fast-check's own table of them takes seconds to build.) */
const anyText = fc
  .array(fc.oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0x10_ff_ff })), { maxLength: 10 })
  .map((points) => String.fromCodePoint(...points));

const odd = fc.constantFrom<unknown>(
  null,
  true,
  false,
  0,
  -1,
  1,
  100,
  100.5,
  1e-7,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 53,
  -(2 ** 31) - 1,
  Number.MAX_VALUE,
  "",
  " ",
  "100",
  "true",
  "null",
  "\0",
  "a\0b",
  "\ud800",
  "\udc00x",
  "\u202e",
  "\u2066abc",
  "\u200b",
  "\ufeff",
  "\r\n",
  "💸",
  "👩‍👩‍👧‍👦".repeat(40),
  `a${"\u0301".repeat(400)}`,
  "%00",
  "%%%___\\\\",
  "<script>alert(1)</script>",
  "'; --",
  "{{7*7}}",
  "2026-02-30T00:00:00Z",
  "9999-12-31T23:59:59.999999+15:59",
  "-infinity",
  [],
  {},
  [null],
  [[]],
  { $ne: null },
  { toString: 1 },
);
const rawNumbers = fc.constantFrom(
  "1e400",
  "-1e400",
  "1.0",
  "1E2",
  "-0",
  "9".repeat(400),
  "0.1e1",
  "123456789012345678901",
);
const longText = fc
  .constantFrom(41, 81, 129, 257, 2_049, 5_001, 10_001, 20_001, 60_000)
  .map((size) => "x".repeat(size));

/** Values of every JSON type, mostly those that are known to break services. */
export const hostileValues: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 12, arbitrary: odd },
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown> },
  { weight: 3, arbitrary: anyText },
  { weight: 2, arbitrary: rawNumbers.map((text) => new RawJson(text)) },
  { weight: 2, arbitrary: longText },
  { weight: 1, arbitrary: wrongIds },
);

/** Names of fields that no operation has. */
export const hostileNames = fc.oneof(
  fc.constantFrom(
    "unheardOf",
    "__proto__",
    "constructor",
    "prototype",
    "toJSON",
    "toString",
    "hasOwnProperty",
    "then",
    "id",
    "userId",
    "status",
    "role",
    "",
    "0",
    "a.b",
    "a[0]",
    "\0",
    "\ud800",
    "x".repeat(3_000),
    "💸".repeat(100),
  ),
  anyText,
);
