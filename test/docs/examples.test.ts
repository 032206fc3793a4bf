import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { sections } from "../../docs/site/navigation.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import { type Block, blocksOf, builtDocs } from "./blocks.ts";
import { programsOf } from "./programs.ts";

const { start, preparedDirectory } = useProcesses();
const root = new URL("../..", import.meta.url).pathname;

/** Where programs of the guides are saved: inside the repository, whose packages they import. */
const examples = join(root, ".build/examples");

/** The guides are read in the order of the navigation. Each goes on in the terminal of this one. */
const first = "first-task";
let blocks: Block[];
let directory: string;

beforeAll(async () => {
  const folder = await builtDocs();
  const guides = sections.flatMap(({ guides }) => guides.map(({ slug }) => slug));
  blocks = (await Promise.all(guides.map((guide) => blocksOf(folder, guide)))).flat();
  directory = await mkdtemp(join(tmpdir(), "rebid-guides-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/**
 * Those that the shell runs: not the file of a snippet, which test/docs/webhookSnippets.test.ts runs, and not those for a server,
 * which `npm run check:install` runs.
 */
const commands = () => blocks.filter(({ language, info }) => language === "sh" && !/not-run|^server$|\.sh$/.test(info));

/** Marks the output of a block, so that it can be found again. */
const markOf = (index: number) => `=== block ${index} ===`;

/** The whole reading as one script: the first guide in the shell itself, every other in a copy of it. */
function scriptOf(shown: readonly Block[]): string {
  const lines = shown.map((block, index) => {
    const { guide, code, info } = block;
    const refusal = /error=(\w+)/.exec(info)?.[1];
    const isThere = info.includes("repository");
    const inPlace = isThere ? `cd ${root}\n${code}\nstatus=$?; cd - > /dev/null; (exit $status)` : code;
    const run =
      refusal === undefined
        ? `{ ${inPlace}\n} || { echo "${guide}, block ${index} failed" >&2; exit 1; }`
        : `if answer=$( { ${inPlace}\n} 2>&1 ); then echo "${guide}, block ${index} was not refused" >&2; exit 1; fi
printf '%s\n' "$answer" | grep '"error":"${refusal}"' || { echo "${guide}, block ${index}: $answer" >&2; exit 1; }`;
    const opens = guide !== first && shown[index - 1]?.guide !== guide ? "(\n" : "";
    const closes = guide !== first && shown[index + 1]?.guide !== guide ? "\n) || exit 1" : "";
    return `${opens}echo; echo "${markOf(index)}"\n${run}${closes}`;
  });
  return lines.join("\n");
}

function shell(script: string, variables: Record<string, string>) {
  const env = { ...process.env, TMPDIR: directory, ...variables };
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
    execFile("bash", ["-c", script], { cwd: directory, env, maxBuffer: 16_000_000 }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

/** Whether what a guide shows of an answer is in it: "…" stands for any text, and the first of a list for all of it. */
function isShownIn(shown: unknown, actual: unknown): boolean {
  if (Array.isArray(shown))
    return Array.isArray(actual) && shown.every((each, index) => isShownIn(each, actual[index]));
  if (typeof shown === "object" && shown !== null) {
    return Object.entries(shown).every(([key, value]) => isShownIn(value, Object(actual)[key]));
  }
  return typeof shown === typeof actual;
}

test("every command of the guides works as it is written, in one terminal, and shows what the guide shows", async () => {
  const DATA_DIR = await preparedDirectory();
  const service = await start({ DATA_DIR });
  await service.ready();
  const shown = commands();
  const url = service.url.replace("127.0.0.1", "localhost");
  const script = scriptOf(shown).replaceAll("http://localhost:3000", url);
  const { code, stdout, stderr } = await shell(script, {
    DATA_DIR,
    PORT: new URL(service.url).port,
    LOG_LEVEL: "warn",
  });
  expect([code, stderr]).toEqual([0, ""]);

  const outputs = stdout.split(/=== block \d+ ===\n/).slice(1);
  expect(outputs).toHaveLength(shown.length);
  const answers = blocks.filter(({ language, info }) => language === "json" && info === "");
  for (const answer of answers) {
    const before = blocks.slice(0, blocks.indexOf(answer)).findLast((block) => shown.includes(block));
    if (before?.guide !== answer.guide) continue;
    const printed = outputs[shown.indexOf(before)]?.split("\n").findLast((line) => line.startsWith("{")) ?? "{}";
    const isTrue = isShownIn(JSON.parse(answer.code), JSON.parse(printed));
    expect([answer.guide, answer.code, isTrue || printed]).toEqual([answer.guide, answer.code, true]);
  }
  expect((await service.stop()).code).toBe(0);
});

test("the TypeScript of every guide compiles, and does on a running service what the guide says", async () => {
  const programs = programsOf(blocks, "ts");
  const service = await start({ DATA_DIR: await preparedDirectory() });
  await service.ready();
  await mkdir(examples, { recursive: true });
  const url = service.url.replace("127.0.0.1", "localhost");
  const save = (name: string, code: string) =>
    writeFile(join(examples, name), code.replaceAll("http://localhost:3000", url));
  for (const { guide, code } of programs) await save(`${guide}.ts`, code);
  const compilerOptions = { lib: ["es2024", "dom", "dom.iterable"] };
  const config = { extends: "../../tsconfig.json", compilerOptions, include: ["*.ts"], exclude: [] };
  await save("tsconfig.json", JSON.stringify(config));
  expect(await shell(`cd ${root} && npx tsc -p ${examples}`, {})).toEqual({ code: 0, stdout: "", stderr: "" });

  // One process, so that the first program runs once for all that import it.
  const lines = programs.map(({ guide }, index) => `console.log("${markOf(index)}"); await import("./${guide}.ts");`);
  await save("main.ts", lines.join("\n"));
  const { code, stdout, stderr } = await shell(`node ${join(examples, "main.ts")}`, {
    NODE_OPTIONS: "--conditions=@rebid/source", // the SDK's source in place of its build
  });
  expect([code, stderr]).toEqual([0, ""]);
  const outputs = stdout.split(/=== block \d+ ===\n/).slice(1);
  for (const [index, { guide, refusals }] of programs.entries())
    for (const refusal of refusals) expect([guide, outputs[index]]).toEqual([guide, expect.stringContaining(refusal)]);
  expect((await service.stop()).code).toBe(0);
});

test("every request of a guide is shown with curl, in TypeScript and in Python", () => {
  const requests = commands().filter(({ code, info }) => info !== "repository" && /\bcall\b/.test(code));
  expect(requests.length).toBeGreaterThan(35);
  for (const request of requests) {
    const others = blocks.slice(blocks.indexOf(request) + 1).slice(0, 2);
    expect([request.guide, request.code, others.map(({ language }) => language)]).toEqual([
      request.guide,
      request.code,
      ["ts", "python"],
    ]);
  }
});

test("every block is of a kind that something runs or reads, and the few that nobody runs say why", () => {
  expect(blocks.length).toBeGreaterThan(40);
  const kinds = new Set(blocks.map(({ language }) => language));
  // Building the site draws the diagrams, and fails if one is wrong.
  expect([...kinds].sort()).toEqual([
    "go",
    "json",
    "mermaid",
    "python",
    "sh",
    "sql",
    "text",
    "throughput",
    "ts",
    "yaml",
  ]);
  for (const { code } of blocks.filter(({ language }) => language === "json"))
    expect(() => JSON.parse(code)).not.toThrow();
  for (const { code } of blocks.filter(({ language }) => language === "yaml")) expect(() => parse(code)).not.toThrow();
  // The others of these languages are the guides' programs. Those in Python are run by `npm run check:python`.
  const files = blocks.filter(({ language, info }) => ["ts", "python", "go"].includes(language) && info !== "");
  expect(files.map(({ info }) => info)).toEqual(["verify.ts", "verify.py", "verify.go"]);
  const left = blocks.filter(({ info }) => info.includes("not-run"));
  expect(left.filter(({ info }) => !/not-run="[^"]{10,}"/.test(info))).toEqual([]);
  expect(left.length).toBeLessThanOrEqual(blocks.length / 5);
});
