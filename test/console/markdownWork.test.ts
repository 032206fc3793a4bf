import { expect, test, vi } from "vitest";
import { readMarkdown } from "../../console/src/parts/readMarkdown.ts";

/** How often the library tries an expression while it reads a text. Unlike its time, that is the same on every machine. */
function triesOf(text: string): number {
  const exec = vi.spyOn(RegExp.prototype, "exec");
  try {
    readMarkdown(text);
    return exec.mock.calls.length;
  } finally {
    exec.mockRestore();
  }
}

/** The longest brief. */
const CHARACTERS = 20_000;
const fill = (unit: string) => unit.repeat(Math.ceil(CHARACTERS / unit.length)).slice(0, CHARACTERS);

test.each([
  "*a_",
  "1.~",
  "www.~&",
  "!",
  "|<#~a",
  "> ",
  "- ",
  ">- ",
  "[",
  "![](",
  "`a",
  "\n~[\n",
  "\n+",
  "**a*b",
  "<!--",
  "a\n",
])("a text that is full of %j takes at most seven tries a character", (unit) => {
  expect(triesOf(fill(unit))).toBeLessThan(7 * CHARACTERS);
});

test("blanks without end are not looked at, and do not take words with them", () => {
  const parts = JSON.stringify(readMarkdown(`first${fill(" ")}last`));
  expect(parts.length).toBeLessThan(2_000);
  expect(parts).toContain("last");
});

test("a long and honest text keeps its looks up to its end", () => {
  const paragraph = `Here is **one** of the *many* paragraphs, with [a link](https://example.com) and \`code\`.\n\n- a list\n- of two\n\n`;
  expect(readMarkdown(fill(paragraph)).filter(({ type }) => type === "list").length).toBeGreaterThan(150);
  const last = readMarkdown(`${fill(paragraph).slice(0, -200)}\n\n**the end**`).at(-1);
  expect(JSON.stringify(last)).toContain('"type":"strong"');
});
