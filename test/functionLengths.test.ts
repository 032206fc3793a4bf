import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type ESTree, parseSync, Visitor } from "vite";
import { expect, test } from "vitest";

const MAX_LINES = 60;
const written = globSync("{server,client-sdk,console,docs,openapi}/**/*.{ts,tsx}", {
  exclude: (path) => /(^|\/)(node_modules|generated|dist|\.build)$/.test(path),
});

/** Returns where the functions of a file begin that are too long, from their first line to their last one. */
function longFunctions(path: string, source: string): string[] {
  const lineAt = (offset: number) => source.slice(0, offset).split("\n").length;
  const found: string[] = [];
  const measure = ({ start, end }: ESTree.Span) => {
    const lines = lineAt(end) - lineAt(start) + 1;
    if (lines > MAX_LINES) found.push(`${path}:${lineAt(start)} has a function of ${lines} lines`);
  };
  const functions = { ArrowFunctionExpression: measure, FunctionDeclaration: measure, FunctionExpression: measure };
  new Visitor(functions).visit(parseSync(path, source).program);
  return found;
}

test(`no function has more than ${MAX_LINES} lines`, async () => {
  expect(written.length).toBeGreaterThan(500);
  const sources = await Promise.all(written.map(async (path) => [path, await readFile(path, "utf8")] as const));
  expect(sources.flatMap(([path, source]) => longFunctions(path, source))).toEqual([]);
});
