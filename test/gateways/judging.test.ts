import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { openJudge } from "../../server/gateways/judging/judge.ts";
import { type ContentCheck, judgeContent } from "../../server/gateways/judging/judgeContent.ts";
import { readCsv } from "../../server/gateways/judging/judgeCsv.ts";
import { hostileContents, zipListing } from "../factories/hostileContents.ts";

const warnings: unknown[] = [];
const judge = openJudge({ log: { warn: (...parameters: unknown[]) => void warnings.push(parameters) } });
afterAll(() => judge.close());

const base = { name: "A check", required: true } as const;
const fileOf = (content: string | Buffer) => {
  const bytes = new Uint8Array(Buffer.from(content));
  return { bytes: bytes.length, content: bytes };
};

test.each<[string, ContentCheck, string | Buffer, string]>([
  ["text", { ...base, kind: "text", minCharacters: 3, maxCharacters: 3 }, "a😀b", "passed"],
  ["text that is too long", { ...base, kind: "text", maxCharacters: 2 }, "a😀b", "failed"],
  ["text with a part", { ...base, kind: "text", contains: ["b", "a"] }, "ab", "passed"],
  ["text without a part", { ...base, kind: "text", contains: ["b", "c"] }, "ab", "failed"],
  ["text that matches", { ...base, kind: "text", matches: "(?m)^b+$" }, "a\nbb\nc", "passed"],
  ["text that does not match", { ...base, kind: "text", matches: "^b" }, "ab", "failed"],
  ["bytes that are no text", { ...base, kind: "text", minCharacters: 1 }, Buffer.from([0xff, 0xfe]), "failed"],
  ["JSON", { ...base, kind: "json_schema", schema: { type: "array", minItems: 1 } }, "[1]", "passed"],
  ["JSON that does not fit", { ...base, kind: "json_schema", schema: { type: "array", minItems: 2 } }, "[1]", "failed"],
  ["no JSON", { ...base, kind: "json_schema", schema: {} }, "[1", "failed"],
  [
    "JSON with 2020-12's own keywords",
    { ...base, kind: "json_schema", schema: { prefixItems: [{ type: "string" }], items: false } },
    '["a", 1]',
    "failed",
  ],
  [
    "JSON with a pattern",
    { ...base, kind: "json_schema", schema: { $defs: { id: { pattern: "^[a-z]+$" } }, items: { $ref: "#/$defs/id" } } },
    '["a", "B"]',
    "failed",
  ],
  [
    "CSV",
    { ...base, kind: "csv", columns: ["a", "b"], minRows: 1, maxRows: 1 },
    'a,"b"\r\n1,"2\r\n""3"""\r\n',
    "passed",
  ],
  ["CSV with a BOM and no last line end", { ...base, kind: "csv", columns: ["a"] }, "\ufeffa\n1", "passed"],
  ["CSV with another column", { ...base, kind: "csv", columns: ["a", "b"] }, "a,c\n1,2\n", "failed"],
  ["CSV with a column too many", { ...base, kind: "csv", columns: ["a"] }, "a,c\n1,2\n", "failed"],
  ["CSV with a ragged row", { ...base, kind: "csv", minRows: 0 }, "a,b\n1\n", "failed"],
  ["CSV with an open quotation mark", { ...base, kind: "csv", minRows: 0 }, 'a\n"1\n', "failed"],
  ["CSV with too few rows", { ...base, kind: "csv", minRows: 2 }, "a\n1\n", "failed"],
  ["an archive", { ...base, kind: "archive", paths: ["a/b.txt", "c"] }, zipListing(["a/b.txt", "c", "d"]), "passed"],
  ["an archive without a name", { ...base, kind: "archive", paths: ["C"] }, zipListing(["c"]), "failed"],
  ["no archive", { ...base, kind: "archive", paths: ["c"] }, "hello", "failed"],
])("%s is judged", async (_name, check, content, conclusion) => {
  const verdict = await judge.judge(check, fileOf(content));
  expect(verdict.conclusion, verdict.summary).toBe(conclusion);
});

test.each(Object.keys(hostileContents))(
  "%s ends within its limit, and costs nothing else",
  async (name) => {
    const hostile = hostileContents[name];
    if (hostile === undefined) throw new Error("no such content");
    const { check, content, conclusion } = hostile();
    const honest = judge.judge({ ...base, kind: "text", minCharacters: 1 }, fileOf("hello"));
    const verdicts = await Promise.all([judge.judge({ ...base, ...check }, fileOf(content)), honest]);
    expect(verdicts[0]).toMatchObject({ conclusion });
    expect(verdicts[0].summary.length).toBeLessThan(2_000);
    expect(verdicts[1]).toMatchObject({ conclusion: "passed" });
  },
  60_000,
);

test("the same bytes have the same verdict in another thread", async () => {
  const other = openJudge({ log: { warn: () => undefined } });
  for (const hostile of Object.values(hostileContents)) {
    const { check, content } = hostile();
    const file = fileOf(content);
    const [one, two] = await Promise.all([judge, other].map((each) => each.judge({ ...base, ...check }, file)));
    expect(one).toEqual(two);
  }
  await other.close();
}, 120_000);

test("a check that can judge nothing is found when it is set", async () => {
  const faultOf = (check: object) => judge.faultOf({ ...base, ...check } as ContentCheck);
  expect(await faultOf({ kind: "text", matches: "a+" })).toBeNull();
  for (const matches of ["(", "(?=a)", "(a)\\1", "(a{1000}){1000}"]) {
    expect(await faultOf({ kind: "text", matches }), matches).not.toBeNull();
  }
  expect(await faultOf({ kind: "json_schema", schema: { $defs: { a: { $ref: "#" } } } })).toBeNull();
  for (const schema of [
    { type: "strange" },
    { $ref: "#/$defs/missing" },
    { pattern: "(?=a)" },
    { $ref: "https://example.com/" },
  ]) {
    expect(await faultOf({ kind: "json_schema", schema }), JSON.stringify(schema)).not.toBeNull();
  }
});

test("a thread that never answers is an error of the check alone", async () => {
  const directory = await mkdtemp(join(tmpdir(), "rebid-judging-"));
  const program = join(directory, "thread.mjs");
  await writeFile(
    program,
    `import { parentPort } from "node:worker_threads";
     parentPort.on("message", ({ check }) => { if (check.minCharacters === 1) for (;;); parentPort.postMessage("answered"); });
     parentPort.postMessage("ready");`,
  );
  const stuck = openJudge({ log: { warn: () => undefined }, cpuMs: 200, program: pathToFileURL(program) });
  const answers = [1, 2].map((minCharacters) => stuck.judge({ ...base, kind: "text", minCharacters }, fileOf("")));
  expect(await Promise.all(answers)).toEqual([expect.objectContaining({ conclusion: "error" }), "answered"]);
  await stuck.close();
  await rm(directory, { recursive: true });
});

const anyCheck = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), matches: fc.string({ maxLength: 20 }) }),
  fc.record({ kind: fc.constant("csv" as const), minRows: fc.nat(3) }),
  fc.record({ kind: fc.constant("archive" as const), paths: fc.array(fc.string({ minLength: 1 }), { minLength: 1 }) }),
  fc.record({
    kind: fc.constant("json_schema" as const),
    schema: fc.dictionary(
      fc.constantFrom(
        "type",
        "$ref",
        "pattern",
        "items",
        "properties",
        "not",
        "anyOf",
        "$id",
        "$dynamicRef",
        "minimum",
      ),
      fc.jsonValue({ maxDepth: 3 }),
    ) as fc.Arbitrary<Record<string, never>>,
  }),
);

test("nothing that is random makes a judge throw, or say more than it may", async () => {
  const archive = zipListing(["a", "b/c"]);
  const damaged = fc.array(fc.tuple(fc.nat(archive.length - 1), fc.nat(255)), { maxLength: 6 }).map((changes) => {
    const copy = Buffer.from(archive);
    for (const [at, byte] of changes) copy[at] = byte;
    return copy;
  });
  const contents = fc.oneof(
    damaged,
    fc.json().map(Buffer.from),
    fc.uint8Array().map(Buffer.from),
    fc.string().map(Buffer.from),
  );
  await fc.assert(
    fc.asyncProperty(anyCheck, contents, async (check, content) => {
      const file = fileOf(content);
      const verdict = await judgeContent({ ...base, ...check }, file);
      expect(["passed", "failed", "error"]).toContain(verdict.conclusion);
      expect(verdict.summary.length).toBeLessThanOrEqual(2_000);
      expect(verdict.summary).toBe(verdict.summary.toWellFormed().replaceAll("\0", ""));
      expect(await judgeContent({ ...base, ...check }, file)).toEqual(verdict);
    }),
    { numRuns: 400 },
  );
});

test("CSV that is written as RFC 4180 says is read with its columns and rows", () => {
  const field = fc.string();
  const write = (value: string) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const table = fc
    .integer({ min: 1, max: 4 })
    .chain((width) =>
      fc.array(fc.array(field, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }),
    );
  fc.assert(
    fc.property(table, fc.constantFrom("\r\n", "\n"), (rows, end) => {
      const text = rows.map((row) => row.map(write).join(",") + end).join("");
      expect(readCsv(Buffer.from(text))).toEqual({ columns: rows[0], rows: rows.length - 1 });
    }),
  );
});
