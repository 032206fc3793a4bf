import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { useProcesses } from "./setup/serviceProcess.ts";

const { start, preparedDirectory } = useProcesses();
const run = promisify(execFile);

/** Each heading as GitHub names its anchor. */
function anchorsOf(markdown: string): string[] {
  const headings = [...markdown.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm)].map(
    ([, title = ""]) => title,
  );
  return headings.map((title) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("the README is at most 10 kB", async () => {
  expect((await readFile("README.md")).byteLength).toBeLessThanOrEqual(10_000);
});

test("every link of the files that GitHub shows leads to a file, and every anchor to a heading", async () => {
  const broken: string[] = [];
  for (const file of [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/glossary.md",
  ]) {
    const markdown = (await readFile(file, "utf8")).replace(/`[^`\n]+`/g, "");
    for (const [, href = ""] of markdown.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [path = "", anchor] = href.split("#", 2);
      const target = path === "" ? file : join(dirname(file), path);
      const found = await readFile(target, "utf8").catch(() => null);
      if (found === null || (anchor !== undefined && !anchorsOf(found).includes(anchor)))
        broken.push(`${file}: ${href}`);
    }
  }
  expect(broken).toEqual([]);
});

test("the README shows what the demo prints", async () => {
  const readme = await readFile("README.md", "utf8");
  const [, shown = ""] = /<!-- demo[\s\S]*?```text\n([\s\S]*?)\n```/.exec(readme) ?? [];
  expect(shown.split("\n").length).toBeGreaterThan(8);
  const DATA_DIR = await preparedDirectory();
  const service = await start({ DATA_DIR });
  await service.ready();
  const { stdout } = await run(process.execPath, ["server/commands/demo.ts"], { env: { ...process.env, DATA_DIR } });
  const withoutDates = (text: string) => stripVTControlCharacters(text).replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, "…");
  const printed = withoutDates(stdout).split("\n");
  let line = 0;
  for (const wanted of withoutDates(shown).split("\n")) {
    const at = printed.indexOf(wanted, line);
    expect([wanted, at >= line]).toEqual([wanted, true]);
    line = at + 1;
  }
});
