import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { errorCatalogue } from "../../server/errors.ts";
import { type Block, blocksOf, builtDocs } from "./blocks.ts";

const run = promisify(execFile);
const root = new URL("../..", import.meta.url).pathname;

interface Sample {
  page: string;
  /** `GET /tasks/{id}`, as the page says. */
  operation: string;
  blocks: Block[];
}

/** The pages of the reference that show an operation. */
let samples: Sample[];
let document: { paths: Record<string, Record<string, { requestBody?: unknown; responses: object }>> };

beforeAll(async () => {
  const folder = join(await builtDocs(), "reference");
  document = JSON.parse(await readFile("openapi/openapi.json", "utf8"));
  const files = (await readdir(folder, { recursive: true })).filter((file) => /^\w+\/.*\.md$/.test(file));
  samples = await Promise.all(
    files.map(async (file) => {
      const page = file.replace(/\.md$/, "");
      const operation = /^`([A-Z]+ \/\S+)`$/m.exec(await readFile(join(folder, file), "utf8"))?.[1] ?? "";
      return { page, operation, blocks: await blocksOf(folder, page) };
    }),
  );
});

test("the reference has a page for every operation of the API document", () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(samples.map(({ operation }) => operation).toSorted()).toEqual(operations.toSorted());
});

test("each page's curl command sends the page's operation, with a body if it takes one", async () => {
  // Stands in for curl: prints what it was called with.
  const script = [
    `curl() { printf '%s\\037' "$@"; printf '\\036'; }`,
    "api=http://rebid id=ID fileId=FILEID key=KEY",
    ...samples.map(({ blocks }) => blocks.find(({ language }) => language === "sh")?.code ?? "exit 1"),
  ].join("\n");
  const { stdout } = await run("bash", ["-euc", script]);
  const calls = stdout.split("\u001e").slice(0, -1);
  expect(calls).toHaveLength(samples.length);
  for (const [index, { operation }] of samples.entries()) {
    const parameters = (calls[index] ?? "").split("\u001f");
    const body = parameters[parameters.indexOf("-d") + 1];
    const hasBody = parameters.includes("-d");
    const method = parameters.includes("-X") ? parameters[parameters.indexOf("-X") + 1] : hasBody ? "POST" : "GET";
    const address = parameters.find((each) => each.startsWith("http://rebid/"));
    const [wanted = "", path = ""] = operation.split(" ");
    expect([operation, method, address]).toEqual([
      operation,
      wanted,
      `http://rebid${path.replaceAll(/\{(\w+)\}/g, (_, name) => name.toUpperCase())}`,
    ]);
    const takesBody = document.paths[path]?.[wanted.toLowerCase()]?.requestBody !== undefined;
    expect([operation, hasBody]).toEqual([operation, takesBody]);
    if (hasBody) expect(() => JSON.parse(body ?? "")).not.toThrow();
  }
});

test("each page's TypeScript compiles with the SDK", async () => {
  const folder = join(root, ".build/samples");
  await mkdir(folder, { recursive: true });
  const functions = samples.map(({ blocks }, index) => {
    const code = blocks.find(({ language }) => language === "ts")?.code;
    return `export async function sample${index}() {\n${code}\n}`;
  });
  const head = `import { Rebid } from "@rebid/sdk";\ndeclare const id: string;\ndeclare const fileId: string;\nconst rebid = new Rebid({ baseUrl: "http://rebid" });`;
  await writeFile(join(folder, "samples.ts"), [head, ...functions].join("\n"));
  const compilerOptions = { noUnusedLocals: false };
  const config = { extends: "../../tsconfig.json", compilerOptions, include: ["samples.ts"], exclude: [] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = await run("npx", ["tsc", "-p", folder], { cwd: root }).catch((error) => error);
  await rm(folder, { recursive: true });
  expect(stdout).toBe("");
});

test("each page lists the errors of its operation, as the guide explains them", async () => {
  const folder = await builtDocs();
  for (const { page } of samples) {
    const markdown = await readFile(join(folder, `reference/${page}.md`), "utf8");
    const codes = [...markdown.matchAll(/\/docs\/errors\.md#(\w+)/g)].map(([, code = ""]) => code);
    expect([page, codes.filter((code) => !(code in errorCatalogue))]).toEqual([page, []]);
    expect([page, codes.length > 2 && codes.length < 25]).toEqual([page, true]);
  }
});
