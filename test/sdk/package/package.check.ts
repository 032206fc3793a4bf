import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { launchBrowser } from "../../setup/browser.ts";
import { useService } from "../../setup/testService.ts";
import { agentOf } from "../clients.ts";

const root = resolve(import.meta.dirname, "../../..");
const tools = join(root, "test/tools/node_modules");
const projects = join(import.meta.dirname, "projects");

/** What the package may be at most. */
const TARBALL_LIMIT_BYTES = 130_000;
const CORE_LIMIT_BYTES = 15_000;

const service = useService({ settings: { trustLocalhost: true } });
let directory: string;
let tarball: string;
let people: { buyer: TestPerson; bidder: TestPerson };

async function run(command: string, parameters: string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  try {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64_000_000 };
    const { stdout, stderr } = await promisify(execFile)(command, parameters, options);
    return stdout + stderr;
  } catch (error) {
    const output =
      error instanceof Error && "stdout" in error && "stderr" in error ? `${error.stdout}${error.stderr}` : "";
    throw new Error(`${command} ${parameters.join(" ")} failed\n${output}`, { cause: error });
  }
}

/** An empty project with the package installed, and nothing else. */
async function newProject(name: string, manifest: object): Promise<string> {
  const folder = join(directory, name);
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), JSON.stringify({ name, private: true, ...manifest }));
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--save-dev", tarball], folder);
  expect(await readdir(join(folder, "node_modules"))).toEqual([".package-lock.json", "@rebid"]);
  return folder;
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-sdk-package-"));
  const sdk = join(root, "client-sdk");
  await rm(join(sdk, "dist"), { recursive: true, force: true });
  await run("npm", ["pack", "--pack-destination", directory], sdk);
  const [filename = ""] = await readdir(directory);
  tarball = join(directory, filename);
  const [buyer, bidder] = await Promise.all([createPerson(service, { cents: 100_000 }), createPerson(service)]);
  people = { buyer, bidder };
});

afterAll(() => rm(directory, { recursive: true, force: true }));

test("the tarball has the build, what its source maps name, the README and the licence, and is small", async () => {
  const files = (await run("tar", ["-tzf", tarball], directory)).trim().split("\n");
  const expected =
    /^package\/(dist\/[\w-]+(\.d\.c?ts|\.c?js(\.map)?)|src\/(generated\/)?\w+\.ts|README\.md|LICENSE|package\.json)$/;
  expect(files.filter((file) => !expected.test(file))).toEqual([]);
  const { size } = await stat(tarball);
  console.log(`tarball: ${size} bytes`);
  expect(size).toBeLessThan(TARBALL_LIMIT_BYTES);
});

test("no file has the server's code or types, or needs a package", async () => {
  const folder = await newProject("contents", {});
  const dist = join(folder, "node_modules/@rebid/sdk/dist");
  for (const name of (await readdir(dist)).filter((file) => !file.endsWith(".map"))) {
    const source = await readFile(join(dist, name), "utf8");
    const imported = [...source.matchAll(/(?:from|import|require)\s*\(?\s*["']([^"']+)["']/g)].map(
      ([, target]) => target ?? "",
    );
    const foreign = imported.filter((target) => !target.startsWith("./"));
    const allowed = /^(trpc\.|router-)/.test(name)
      ? /^@trpc\/(client|server)$/
      : name.startsWith("node.")
        ? /^node:/
        : /^$/;
    expect([name, foreign.filter((target) => !allowed.test(target))]).toEqual([name, []]);
    expect([name, /\/server\/|prisma|ZodType/.test(source)]).toEqual([name, false]);
  }
  const { dependencies } = JSON.parse(await readFile(join(folder, "node_modules/@rebid/sdk/package.json"), "utf8"));
  expect(dependencies).toBeUndefined();
});

test("the core is small when it is compressed", async () => {
  const dist = join(root, "client-sdk/dist");
  const loaded = new Map<string, string>();
  const load = async (name: string): Promise<void> => {
    const code = await readFile(join(dist, name), "utf8");
    loaded.set(name, code);
    for (const [, chunk = ""] of code.matchAll(/from\s*"\.\/([^"]+)"/g)) if (!loaded.has(chunk)) await load(chunk);
  };
  await load("index.js");
  const bytes = gzipSync([...loaded.values()].join("\n")).length;
  console.log(`core: ${bytes} bytes gzipped`);
  expect(bytes).toBeLessThan(CORE_LIMIT_BYTES);
});

test.each(["import", "require"])(
  "an error that nobody catches shows a line of code, and its stack leads to the sources: %s",
  async (way) => {
    const folder = await newProject(`stack-${way}`, {});
    const load = way === "import" ? 'await import("@rebid/sdk")' : 'require("@rebid/sdk")';
    const program = `(async () => { const { Rebid } = ${load}; new Rebid({ baseUrl: "not an address" }); })()`;
    const fails = async (...flags: string[]) =>
      String(await run("node", [...flags, "-e", program], folder).catch(String));

    const plain = await fails();
    expect(plain).toMatch(/TypeError: `baseUrl` must be an address/);
    expect(plain.length).toBeLessThan(3_000);

    const mapped = await fails("--enable-source-maps");
    const [, path = "", line = "0"] = /\((?:file:\/\/)?([^()]*sdk\/src\/request\.ts):(\d+):\d+\)/.exec(mapped) ?? [];
    const source = (await readFile(path, "utf8")).split("\n");
    expect(source[Number(line) - 1]).toContain("`baseUrl` must be an address");
  },
);

test("publint and attw find nothing", async () => {
  await run(join(tools, ".bin/publint"), ["run", "--strict", tarball], directory);
  await run(join(tools, ".bin/attw"), [tarball], directory);
});

const typescript = {
  "7": join(root, "node_modules/typescript"),
  "5.9": join(tools, "typescript"),
  "5.0": join(tools, "typescript50"),
};
const strict = { strict: true, skipLibCheck: false, noEmit: true, exactOptionalPropertyTypes: true, target: "es2022" };
const node = { lib: ["es2022"], types: ["node"], typeRoots: [join(root, "node_modules/@types")] };
// The types of tRPC need `Disposable`.
const browser = { lib: ["es2022", "esnext.disposable", "dom", "dom.iterable", "dom.asynciterable"], types: [] };
const older = { lib: ["es2022", "dom", "dom.iterable"], types: [] };

/** What a program needs beside the package, and from where: tRPC in the newest version, and in that of its adapter. */
const linked: Record<string, [folder: string, names: string[]]> = {
  "trpc.ts": [join(root, "node_modules"), ["@trpc"]],
  "tanstack.ts": [tools, ["@trpc", "@tanstack", "react", "@types"]],
};

async function linkPackages(folder: string, program: string): Promise<void> {
  const [from, names] = linked[program] ?? ["", []];
  for (const name of names) await symlink(join(from, name), join(folder, "node_modules", name));
}

test.each<[string, keyof typeof typescript, "consumer.ts" | "trpc.ts" | "tanstack.ts", "module" | "commonjs", object]>([
  ["ESM", "7", "consumer.ts", "module", { ...node, module: "nodenext" }],
  ["CommonJS", "7", "consumer.ts", "commonjs", { ...node, module: "nodenext" }],
  ["a bundler", "7", "consumer.ts", "module", { ...browser, module: "esnext", moduleResolution: "bundler" }],
  ["a bundler with tRPC", "7", "trpc.ts", "module", { ...browser, module: "esnext", moduleResolution: "bundler" }],
  ["ESM with tRPC", "5.9", "trpc.ts", "module", { ...browser, module: "nodenext" }],
  // The adapter's own types need those of Node and of ws.
  ["ESM with TanStack Query", "7", "tanstack.ts", "module", { ...browser, module: "nodenext", skipLibCheck: true }],
  [
    "a bundler with TanStack Query",
    "5.9",
    "tanstack.ts",
    "module",
    { ...browser, module: "esnext", moduleResolution: "bundler", skipLibCheck: true },
  ],
  ["ESM", "5.9", "consumer.ts", "module", { ...node, module: "node16" }],
  [
    "the resolution of Node 10",
    "5.9",
    "consumer.ts",
    "commonjs",
    { ...node, module: "commonjs", moduleResolution: "node10" },
  ],
  ["ESM", "5.0", "consumer.ts", "module", { ...older, module: "node16" }],
  ["CommonJS", "5.0", "consumer.ts", "commonjs", { ...older, module: "node16" }],
])(
  "a program compiles, and its mistakes do not: %s, TypeScript %s, %s",
  async (name, version, program, type, options) => {
    const folder = await newProject(`${name} ${version} ${program}`.replace(/\W+/g, "-").toLowerCase(), { type });
    await linkPackages(folder, program);
    await cp(join(projects, program), join(folder, program));
    const compilerOptions = { ...strict, ...options };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [program] }));
    await run(process.execPath, [join(typescript[version], "bin/tsc"), "-p", "."], folder);
  },
);

const runtimes = {
  "Node 20": join(tools, "node20/bin/node"),
  "Node 22": join(tools, "node22/bin/node"),
  "Node 24": process.execPath,
};

test.each(
  Object.entries(runtimes).flatMap(
    ([name, path]) =>
      [
        [name, "import", path],
        [name, "require", path],
      ] as const,
  ),
)("the main job runs on %s with %s", async (name, way, path) => {
  const folder = await newProject(`${name}-${way}`.replace(/\W+/g, "-"), {});
  await cp(join(projects, "job.cjs"), join(folder, "job.cjs"));
  const output = await run(path, ["job.cjs", way], folder, {
    NODE_OPTIONS: "",
    REBID_URL: service.url,
    BUYER_KEY: people.buyer.key.authorization?.replace("Bearer ", ""),
    BIDDER_KEY: people.bidder.key.authorization?.replace("Bearer ", ""),
  });
  expect(output.trim()).toBe("done");
});

test("its client answers TanStack Query, over tRPC in the version of the adapter", async () => {
  const folder = await newProject("tanstack", { type: "module" });
  await linkPackages(folder, "tanstack.ts");
  await cp(join(projects, "tanstack.ts"), join(folder, "tanstack.ts"));
  const buyer = agentOf(service, people.buyer);
  for (const title of ["One", "Two"]) {
    await buyer.tasks.create({ title, description: "A text.", maxBudgetCents: 100, tags: [] });
  }
  const { nextCursor, ...all } = await buyer.tasks.list().page();
  expect(all.tasks.length).toBeLessThan(10);
  const script = `import("./tanstack.ts").then(({ work }) => work(${JSON.stringify(service.url)})).then(console.log)`;
  const output = await run(process.execPath, ["--eval", script], folder);
  expect(output.trim()).toBe(`${all.tasks.length}, unauthenticated`);
});

test("a bundle of it works in Chromium", async () => {
  const folder = await newProject("page", { type: "module" });
  await cp(join(projects, "page.js"), join(folder, "page.js"));
  const bundle = ["page.js", "--format", "iife", "--platform", "browser", "--minify", "--no-dts", "--no-config"];
  await run(join(root, "node_modules/.bin/tsdown"), bundle, folder);
  const [file = ""] = await readdir(join(folder, "dist"));
  const script = await readFile(join(folder, "dist", file));
  console.log(`bundle of the page: ${gzipSync(script).length} bytes gzipped`);
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><script src="/page.js"></script>');
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const chromium = await launchBrowser();
  try {
    const page = await chromium.newPage();
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    const input = {
      baseUrl: service.url,
      buyerKey: people.buyer.key.authorization?.replace("Bearer ", ""),
      bidderKey: people.bidder.key.authorization?.replace("Bearer ", ""),
    };
    const shown = await page.evaluate(
      (given) => (globalThis as unknown as { work(given: object): Promise<string> }).work(given),
      input,
    );
    expect(shown).toBe("done: hello.txt, 5 bytes");
  } finally {
    await chromium.close();
    server.closeAllConnections();
    server.close();
  }
});
