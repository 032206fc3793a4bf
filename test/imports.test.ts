import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { beforeAll, expect, test } from "vitest";

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

let files: { path: string; source: string }[];
let imports: Import[];

beforeAll(async () => {
  const names = await readdir("server", { recursive: true });
  const paths = names.filter((name) => name.endsWith(".ts")).map((name) => join("server", name));
  files = await Promise.all(paths.map(async (path) => ({ path, source: await readFile(path, "utf8") })));
  imports = files.flatMap(({ path, source }) =>
    [...source.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)";/gm)].map(([, type, target = ""]) => ({
      from: path,
      to: target.startsWith(".") ? normalize(join(dirname(path), target)) : target,
      typeOnly: type !== undefined,
    })),
  );
  expect(imports.length).toBeGreaterThan(300);
});

/** The imports that a rule forbids, to be read in a failure. */
function breaking(rule: (each: Import) => boolean): string[] {
  return imports.filter(rule).map(({ from, to }) => `${from} imports ${to}`);
}

const procedurePattern = /^export const \w+ = (open|signedIn|sessionOnly|moderator|scoped)\b/gm;

function proceduresIn(path: string): number {
  const source = files.find((file) => file.path === path)?.source ?? "";
  return path.startsWith("server/procedures/") ? [...source.matchAll(procedurePattern)].length : 0;
}

const isProcedureFile = (path: string) => proceduresIn(path) > 0;

test("a procedure is known to its router only", () => {
  const procedures = files.filter(({ path }) => isProcedureFile(path));
  expect(procedures.length).toBeGreaterThan(20);
  expect(breaking(({ from, to }) => isProcedureFile(to) && !from.endsWith("/router.ts"))).toEqual([]);
  // A router file is a table: procedures and what makes a router of them.
  expect(
    breaking(
      ({ from, to }) =>
        /^server\/procedures\/\w+\/router\.ts$/.test(from) && !isProcedureFile(to) && to !== "server/trpc.ts",
    ),
  ).toEqual([]);
});

test("one procedure stands in one file", () => {
  expect(files.map(({ path }) => path).filter((path) => proceduresIn(path) > 1)).toEqual([]);
});

test("procedures reach for what is below them, not for HTTP, jobs, embedded parts, configuration or each other's tables", () => {
  const below =
    /^server\/(procedures|ledger|reputation|events|db|schemas|gateways|auth)\/|^server\/(errors|trpc|context|services)\.ts$/;
  const libraries = new Set(["zod"]);
  const allowed = ({ from, to }: Import) =>
    !from.startsWith("server/procedures/") || below.test(to) || libraries.has(to) || to.startsWith("node:");
  expect(breaking((each) => !allowed(each))).toEqual([]);
});

test("what lies below does not reach up to procedures and HTTP", () => {
  const low = /^server\/(ledger|reputation|events|db|schemas|gateways|auth)\//;
  expect(breaking(({ from, to }) => low.test(from) && /^server\/(procedures|http|local)\//.test(to))).toEqual([]);
});

test("schemas and rules are pure: they import nothing that does I/O", () => {
  const isPure = (path: string) => path.startsWith("server/schemas/") || /\/(rules|stateMachine)\.ts$/.test(path);
  const pureTarget = ({ to, typeOnly }: Import) =>
    typeOnly ||
    isPure(to) ||
    ["zod", "server/errors.ts", "server/auth/scopes.ts", "server/events/catalogue.ts"].includes(to);
  expect(breaking((each) => isPure(each.from) && !pureTarget(each))).toEqual([]);
  for (const { path, source } of files.filter((file) => isPure(file.path))) {
    expect([path, /\bfetch\(|Date\.now\(|new Date\(\)|Math\.random|crypto\./.test(source)]).toEqual([path, false]);
  }
});

test("the environment is read by the configuration and at the entry points", () => {
  const readers = files.filter(({ source }) => source.includes("process.env")).map(({ path }) => path);
  // What `npm start` brings along hands PATH on to Postgres' own programs.
  const entryPoints = /^server\/(config|main|commands\/\w+|local\/postgres)\.ts$/;
  expect(readers.filter((path) => !entryPoints.test(path))).toEqual([]);
});

test("the configuration is handed down: only its types, its loader and its error travel", () => {
  const users = imports.filter(({ to, typeOnly }) => to === "server/config.ts" && !typeOnly).map(({ from }) => from);
  expect(users.filter((path) => path.startsWith("server/procedures/") || path.startsWith("server/ledger/"))).toEqual(
    [],
  );
});

test("there is no folder for odds and ends, and no barrel", () => {
  const odd = files.filter(({ path }) => /\/(utils?|lib|helpers?|services|common)\/|\/index\.ts$/.test(path));
  expect(odd.map(({ path }) => path)).toEqual([]);
});

test("modules do not import each other in a circle", () => {
  const edges = new Map<string, string[]>();
  for (const { from, to, typeOnly } of imports) {
    if (!typeOnly && to.startsWith("server/")) edges.set(from, [...(edges.get(from) ?? []), to]);
  }
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) circles.push([...trail.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  expect(circles).toEqual([]);
});
