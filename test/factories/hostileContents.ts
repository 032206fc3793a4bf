import type { ContentCheck } from "../../server/gateways/judging/judgeContent.ts";
import { zipFile } from "./files.ts";

type Bare<Check> = Check extends unknown ? Omit<Check, "name" | "required"> : never;

/** A file and a rule that are made to cost a judge more than they should, and what the verdict is. */
interface HostileContent {
  check: Bare<ContentCheck>;
  content: string | Buffer;
  conclusion: "passed" | "failed" | "error";
}

const u16 = (value: number) => Buffer.from([value & 0xff, value >> 8]);
const u32 = (value: number) => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)]);

/** A zip archive of nothing but its list of files. */
export function zipListing(
  names: string[],
  {
    entries = names.length,
    offset = 0,
    prefix = Buffer.alloc(0),
  }: { entries?: number; offset?: number; prefix?: Buffer } = {},
): Buffer {
  const list = Buffer.concat(
    names.map((name) => {
      const bytes = Buffer.from(name);
      const fixed = Buffer.concat([
        u32(0x02014b50),
        u16(20),
        u16(20),
        u16(0x800),
        u16(0),
        u32(0),
        u32(0),
        u32(0),
        u32(0),
      ]);
      return Buffer.concat([fixed, u16(bytes.length), u16(0), u16(0), u16(0), u16(0), u32(0), u32(0), bytes]);
    }),
  );
  const end = [
    u32(0x06054b50),
    u16(0),
    u16(0),
    u16(entries),
    u16(entries),
    u32(list.length),
    u32(prefix.length + offset),
    u16(0),
  ];
  return Buffer.concat([prefix, list, ...end]);
}

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

/** Each level refers twice to the next: 2^40 ways through 40 definitions. */
function doublingSchema() {
  const levels = Array.from({ length: 40 }, (_, level) => {
    const next = { $ref: `#/$defs/d${level + 1}` };
    return [`d${level}`, { allOf: [next, next] }] as const;
  });
  return { $defs: { ...Object.fromEntries(levels), d40: { type: "object" } }, $ref: "#/$defs/d0" };
}

export const hostileContents: Record<string, () => HostileContent> = {
  "an expression that takes others exponential time": () => ({
    check: { kind: "text", matches: "^(a+)+$" },
    content: `${"a".repeat(200_000)}!`,
    conclusion: "failed",
  }),
  "a pattern in a schema that takes others exponential time": () => ({
    check: { kind: "json_schema", schema: { pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" } },
    content: JSON.stringify("a".repeat(50_000)),
    conclusion: "failed",
  }),
  "an expression with a huge program": () => ({
    check: { kind: "text", matches: "((a{0,30}){0,30})b" },
    content: "a".repeat(9_000_000),
    conclusion: "failed",
  }),
  "a schema that refers to itself": () => ({
    check: { kind: "json_schema", schema: { $ref: "#" } },
    content: "{}",
    conclusion: "error",
  }),
  "schemas that refer to each other": () => ({
    check: {
      kind: "json_schema",
      schema: { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    },
    content: "{}",
    conclusion: "error",
  }),
  "a schema with a million million paths": () => ({
    check: { kind: "json_schema", schema: doublingSchema() },
    content: "{}",
    conclusion: "error",
  }),
  "a recursive schema on JSON of a million levels": () => ({
    check: { kind: "json_schema", schema: { items: { $ref: "#" } } },
    content: nested(1_000_000, "[", "]"),
    conclusion: "error",
  }),
  "unique items that are compared with each other": () => ({
    check: { kind: "json_schema", schema: { uniqueItems: true } },
    content: JSON.stringify(Array.from({ length: 100_000 }, (_, at) => ({ at }))),
    conclusion: "error",
  }),
  "JSON that names a prototype": () => ({
    check: { kind: "json_schema", schema: { additionalProperties: false } },
    content: '{"__proto__": {"polluted": true}}',
    conclusion: "failed",
  }),
  "JSON of ten million bytes of small values": () => ({
    check: { kind: "json_schema", schema: { type: "array" } },
    content: `[${"{},".repeat(3_333_000)}{}]`,
    conclusion: "passed",
  }),
  "CSV of one huge line": () => ({
    check: { kind: "csv", columns: ["a"], minRows: 1 },
    content: "a,".repeat(4_900_000),
    conclusion: "failed",
  }),
  "CSV of one huge field": () => ({
    check: { kind: "csv", columns: ["a"] },
    content: `"${"a".repeat(9_900_000)}`,
    conclusion: "failed",
  }),
  "an archive that counts four billion files": () => ({
    check: { kind: "archive", paths: ["missing"] },
    content: zipListing(["a"], { entries: 0xfffe }),
    conclusion: "failed",
  }),
  "an archive whose list is behind its end": () => ({
    check: { kind: "archive", paths: ["a"] },
    content: zipListing(["a"], { offset: 0x7fffffff }),
    conclusion: "failed",
  }),
  "an archive with a list that contains itself": () => ({
    check: { kind: "archive", paths: ["missing"] },
    content: zipListing(
      Array.from({ length: 3 }, () => "a"),
      { entries: 3, offset: -46 - 1, prefix: Buffer.alloc(47) },
    ),
    conclusion: "failed",
  }),
  "an archive in zip64 that points anywhere": () => ({
    check: { kind: "archive", paths: ["a"] },
    content: Buffer.concat([
      ...[u32(0x07064b50), u32(0), u32(0xffffffff), u32(0x001fffff), u32(1)],
      zipListing([], { entries: 0xffff, offset: 0xffffffff }),
    ]),
    conclusion: "failed",
  }),
  "an archive that would unpack to 200 MB": () => ({
    check: { kind: "archive", paths: ["a"] },
    content: zipListing(["a"], { prefix: zipFile("a", Buffer.alloc(200_000_000)) }),
    conclusion: "passed",
  }),
  "an archive with a path out of its folder": () => ({
    check: { kind: "archive", paths: ["a"] },
    content: zipListing(["../../etc/passwd", "a"]),
    conclusion: "failed",
  }),
};
