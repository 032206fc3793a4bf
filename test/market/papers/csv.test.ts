import fc from "fast-check";
import { expect, test } from "vitest";
import { csvOf } from "../../../server/market/papers/csv.ts";

/** Reads CSV back, as RFC 4180 says. */
function parse(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

const unit = fc.constantFrom("=", "+", "-", "@", "\t", "\r", "\n", ",", '"', "'", ";", " ", "a", "1", "é", "漢", "😀");
const cell = fc.oneof(fc.string({ unit, maxLength: 8 }), fc.integer(), fc.constant(null));

test("every cell is read back as it was written, but for the apostrophe that keeps it from running, and none runs", () => {
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { maxLength: 5 }), (rows) => {
      const read = parse(csvOf(["a", "b", "c"], rows));
      expect(read[0]).toEqual(["a", "b", "c"]);
      expect(read).toHaveLength(rows.length + 1);
      for (const [y, row] of rows.entries()) {
        for (const [x, written] of row.entries()) {
          const shown = read[y + 1]?.[x] ?? "missing";
          if (!/^-?\d+(\.\d+)?$/.test(shown)) expect(shown).not.toMatch(/^[=+\-@\t\r]/);
          expect([String(written ?? ""), `'${written}`]).toContain(shown);
        }
      }
    }),
    { numRuns: 3_000 },
  );
});

test("a text that would be a formula gets an apostrophe, a number with a sign does not", () => {
  const rows = [
    ["=1+1", "+1 234", "-5"],
    ["@SUM(A1)", "-5.25", '-"x"'],
    [-7, 7, null],
  ];
  expect(csvOf(["a", "b", "c"], rows)).toBe(`a,b,c\r\n'=1+1,'+1 234,-5\r\n'@SUM(A1),-5.25,"'-""x"""\r\n-7,7,\r\n`);
});
