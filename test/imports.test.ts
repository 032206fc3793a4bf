import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { beforeAll, expect, test } from "vitest";

/**
 * The floors of the house, from the entry down to the ground. A file may import from its own floor and from those below,
 * and imports never run in a circle, neither between files nor between rooms. docs/architecture.md shows the same table.
 */
const floors: readonly (readonly string[])[] = [
  ["start/"],
  ["http/", "mcp/", "jobs/", "commands/"],
  ["procedures/", "audit/"],
  ["trpc.ts", "market/", "webhooks/", "notifications/", "testClock/"],
  ["services.ts", "embedded.ts", "meta.ts", "auth/", "events/", "limits/", "repeats/", "translateErrors.ts", "local/"],
  ["store/", "backingServices.ts"],
  [
    "config.ts",
    "environment.ts",
    "errors.ts",
    "schemas/",
    "gateways/",
    "sites/",
    "brand/",
    "fileLock.ts",
    "requestId.ts",
    "measures.ts",
    "outsideCalls.ts",
    "tracing.ts",
    "turns.ts",
    "version.ts",
    "prisma/",
  ],
];

/** The floors inside `server/local`, in the same order and under the same rules. Rooms are relative to that folder. */
const localFloors: readonly (readonly string[])[] = [
  ["start.ts"],
  ["runningServices.ts", "postgres/", "objectStore/", "mailbox/", "processor/start.ts"],
  ["processor/pages/", "processor/testApi/"],
  ["processor/resources/"],
  ["processor/api/", "processor/model/", "dataDirectory/", "listen.ts"],
];

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
  dynamic: boolean;
}

let files: { path: string; source: string }[];
let imports: Import[];

const importPatterns = [
  { pattern: /^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)";/gm, dynamic: false },
  { pattern: /^import\s+()"([^"]+)";/gm, dynamic: false },
  { pattern: /\bimport\(()"([^"]+)"\)/g, dynamic: true },
];

beforeAll(async () => {
  const names = await readdir("server", { recursive: true });
  const paths = names.filter((name) => name.endsWith(".ts") && !name.includes("node_modules"));
  files = await Promise.all(
    paths.map(async (name) => ({ path: join("server", name), source: await readFile(join("server", name), "utf8") })),
  );
  imports = files.flatMap(({ path, source }) =>
    importPatterns.flatMap(({ pattern, dynamic }) =>
      [...source.matchAll(pattern)].map(([, type, target = ""]) => ({
        from: path,
        to: target.startsWith(".") ? normalize(join(dirname(path), target)) : target,
        typeOnly: type !== undefined && type !== "",
        dynamic,
      })),
    ),
  );
  expect(imports.length).toBeGreaterThan(300);
});

/** The room that a file stands in, as `floors` names it: `server/http/app.ts` stands in `http/`. */
function roomOf(path: string): string {
  const [first = "", second] = path.startsWith("prisma/") ? path.split("/") : relative("server", path).split("/");
  return second === undefined ? first : `${first}/`;
}

/** Counted from the ground, which is 1; null for a file that stands on no floor. */
function floorOf(path: string): number | null {
  const index = floors.findIndex((rooms) => rooms.includes(roomOf(path)));
  return index < 0 ? null : floors.length - index;
}

const isOurs = (target: string) => target.startsWith("server/") || target.startsWith("prisma/");

/** The imports that a rule forbids, to be read in a failure. */
function breaking(rule: (each: Import) => boolean): string[] {
  return imports.filter(rule).map(({ from, to }) => `${from} imports ${to}`);
}

test("there are at most seven floors, and every file stands on one of them", () => {
  expect(floors.length).toBeLessThanOrEqual(7);
  const homeless = files
    .filter(({ path }) => floorOf(path) === null)
    .map(
      ({ path }) =>
        `${path}: the room ${roomOf(path)} stands on no floor; add it to \`floors\` and to the table in docs/architecture.md`,
    );
  expect(homeless).toEqual([]);
});

test("no import runs upward, not even for a type", () => {
  expect(upwardImports(imports, (path) => (isOurs(path) ? floorOf(path) : 0))).toEqual([]);
});

/** The imports that run upward, with both floors. A file without a floor is reported by a test of its own. */
function upwardImports(among: readonly Import[], floorOfFile: (path: string) => number | null): string[] {
  return among.flatMap(({ from, to }) => {
    const [fromFloor, toFloor] = [floorOfFile(from), floorOfFile(to)];
    if (fromFloor === null || toFloor === null || toFloor <= fromFloor) return [];
    return [`${from} (floor ${fromFloor}) imports ${to} (floor ${toFloor})`];
  });
}

test("no imports run in a circle, neither between files nor between rooms, not even for types", () => {
  const ours = imports.filter(({ to }) => isOurs(to));
  const market = (path: string) => (path.startsWith("server/market/") ? dirname(path) : roomOf(path));
  expect.soft(circlesOf(ours.map(({ from, to }) => [from, to]))).toEqual([]);
  expect.soft(circlesOf(ours.map(({ from, to }) => [roomOf(from), roomOf(to)]))).toEqual([]);
  expect.soft(circlesOf(ours.map(({ from, to }) => [market(from), market(to)]))).toEqual([]);
});

const isLocal = (path: string) => path.startsWith("server/local/");

/** The room of `localFloors` that a file belongs to; null if it has none. */
function localRoomOf(path: string): string | null {
  const name = relative("server/local", path);
  return localFloors.flat().find((room) => (room.endsWith("/") ? name.startsWith(room) : name === room)) ?? null;
}

function localFloorOf(path: string): number | null {
  const index = localFloors.findIndex((rooms) => rooms.includes(localRoomOf(path) ?? ""));
  return index < 0 ? null : localFloors.length - index;
}

test("the embedded services have at most five floors of their own, and every file is on one of them", () => {
  expect(localFloors.length).toBeLessThanOrEqual(5);
  const homeless = files
    .filter(({ path }) => isLocal(path) && localFloorOf(path) === null)
    .map(({ path }) => `${path} is on no floor of server/local; add its room to \`localFloors\``);
  expect(homeless).toEqual([]);
  const empty = localFloors
    .flat()
    .filter((room) => !files.some(({ path }) => isLocal(path) && localRoomOf(path) === room));
  expect(empty).toEqual([]);
});

test("inside the embedded services no import runs upward or in a circle, not even for a type", () => {
  const inside = imports.filter(({ from, to }) => isLocal(from) && isLocal(to));
  expect.soft(upwardImports(inside, localFloorOf)).toEqual([]);
  const rooms = inside.map(({ from, to }) => [localRoomOf(from) ?? from, localRoomOf(to) ?? to] as const);
  expect.soft(circlesOf(rooms)).toEqual([]);
});

/** Each circle in a graph, as a path to be read; an edge from a node to itself does not count. */
function circlesOf(pairs: readonly (readonly [string, string])[]): string[] {
  const edges = new Map<string, Set<string>>();
  for (const [from, to] of pairs) if (from !== to) edges.set(from, (edges.get(from) ?? new Set()).add(to));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (name: string, trail: string[]) => {
    const start = trail.indexOf(name);
    if (start >= 0) circles.push([...trail.slice(start), name].join(" → "));
    if (start >= 0 || done.has(name)) return;
    for (const next of edges.get(name) ?? []) visit(next, [...trail, name]);
    done.add(name);
  };
  for (const name of edges.keys()) visit(name, []);
  return circles;
}

test("the architecture's table shows these floors", async () => {
  const architecture = await readFile("docs/architecture.md", "utf8");
  const rows = [...architecture.matchAll(/^\| (\d) \| ([^|]+) \|/gm)].map(([, floor, rooms = ""]) => ({
    floor: Number(floor),
    rooms: [...rooms.matchAll(/`([^`]+)`/g)].map(([, room]) => room),
  }));
  expect(rows).toEqual(floors.map((rooms, index) => ({ floor: floors.length - index, rooms })));
});

const procedurePattern = /^export const \w+ = (anyone|signedIn|sessionOnly|moderator|scoped|embeddedOnly)\b/gm;

function proceduresIn(path: string): number {
  const source = files.find((file) => file.path === path)?.source ?? "";
  return path.startsWith("server/procedures/") ? [...source.matchAll(procedurePattern)].length : 0;
}

const isRouterFile = (path: string) => /^server\/procedures\/(\w+\/)?router\.ts$/.test(path);

test("procedures/ holds procedures only: one a file, and a router file, which is a table, for each noun", () => {
  const rooms = files.filter(({ path }) => path.startsWith("server/procedures/"));
  const procedures = rooms.filter(({ path }) => !isRouterFile(path));
  expect(procedures.length).toBeGreaterThan(20);
  expect(procedures.map(({ path }) => path).filter((path) => proceduresIn(path) !== 1)).toEqual([]);
  expect(
    breaking(({ from, to }) => isRouterFile(from) && !to.startsWith("server/procedures/") && to !== "server/trpc.ts"),
  ).toEqual([]);
});

test("a procedure is known to its router only", () => {
  const isProcedure = (path: string) => proceduresIn(path) > 0;
  expect(breaking(({ from, to }) => isProcedure(to) && !isRouterFile(from))).toEqual([]);
});

const lines = (source: string) => source.split("\n").length - 1;

test("a procedure stays small: under 100 lines each, a median under 35", () => {
  const sizes = files.filter(({ path }) => proceduresIn(path) > 0).map(({ source }) => lines(source));
  const median = sizes.sort((a, b) => a - b)[Math.floor(sizes.length / 2)];
  expect(Math.max(...sizes)).toBeLessThan(100);
  expect(median).toBeLessThan(35);
});

test("no file that is written by hand has more than 300 lines", async () => {
  const folders = ["server", "client-sdk", "console", "docs", "openapi", "prisma"];
  const isWritten = (path: string) =>
    /\.(css|html|mjs|prisma|sh|sql|tsx?)$/.test(path) && !/\/(node_modules|generated|dist)\//.test(path);
  const listed = await Promise.all(
    folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((name) => join(folder, name))),
  );
  const written = listed.flat().filter(isWritten);
  expect(written.length).toBeGreaterThan(500);
  const sizes = await Promise.all(written.map(async (path) => ({ path, size: lines(await readFile(path, "utf8")) })));
  expect(sizes.filter(({ size }) => size > 300).map(({ path }) => path)).toEqual([]);
});

test("procedures import only the marketplace, the store, and what both stand on", () => {
  const below =
    /^server\/(procedures|audit|market|webhooks|notifications|testClock|events|store|schemas|gateways|auth)\/|^server\/(errors|trpc|services)\.ts$/;
  const libraries = new Set(["zod", "@trpc/server"]);
  const allowed = ({ from, to }: Import) =>
    !from.startsWith("server/procedures/") || below.test(to) || libraries.has(to) || to.startsWith("node:");
  expect(breaking((each) => !allowed(each))).toEqual([]);
});

test("schemas and rules are pure: they import nothing that does I/O", () => {
  const isPure = (path: string) =>
    path.startsWith("server/schemas/") || /\/(rules|stateMachine|movements)\.ts$/.test(path);
  const others = ["zod", "server/errors.ts", "server/gateways/processorRecords.ts"];
  const pureTarget = ({ to, typeOnly }: Import) => typeOnly || isPure(to) || others.includes(to);
  expect(breaking((each) => isPure(each.from) && !pureTarget(each))).toEqual([]);
  for (const { path, source } of files.filter((file) => isPure(file.path))) {
    expect([path, /\bfetch\(|Date\.now\(|new Date\(\)|Math\.random|crypto\./.test(source)]).toEqual([path, false]);
  }
});

test("the embedded services have one door, which is opened only when it is needed", () => {
  const visitors = imports.filter(
    ({ from, to }) => to.startsWith("server/local/") && !from.startsWith("server/local/"),
  );
  expect(visitors.length).toBeGreaterThan(0);
  expect(visitors.filter(({ to, dynamic }) => to !== "server/local/start.ts" || !dynamic)).toEqual([]);
});

test("a start loads none of the packages that only some requests need", () => {
  const ways = imports.filter(({ typeOnly, dynamic }) => !typeOnly && !dynamic);
  const loadedFrom = Map.groupBy(ways, ({ from }) => from);
  const loaded = new Set<string>(["server/start/main.ts", "server/start/service.ts", "server/store/schema.ts"]);
  // A set is walked in the order of its members, also those that are added on the way.
  for (const file of loaded) for (const { to } of loadedFrom.get(file) ?? []) loaded.add(to);
  for (const needed of ["express", "pg", "graphile-worker", "zod"]) expect(loaded).toContain(needed);
  const late =
    /^(@aws-sdk\/.+|@modelcontextprotocol\/.+|image-size|music-metadata|mustache|nodemailer|oidc-provider|stripe|trpc-to-openapi|undici|vite)$/;
  expect([...loaded].filter((target) => late.test(target))).toEqual([]);
});

test("the environment is read by the configuration and at the entry points", () => {
  const readers = files.filter(({ source }) => source.includes("process.env")).map(({ path }) => path);
  // The embedded Postgres hands PATH on to its own programs.
  const entryPoints = /^server\/(config\.ts|start\/main\.ts|commands\/\w+\.ts|local\/.*postgres.*\.ts)$/i;
  expect(readers.filter((path) => !entryPoints.test(path))).toEqual([]);
});

test("the configuration is handed down: only its types, its loader and its error travel", () => {
  const users = imports.filter(({ to, typeOnly }) => to === "server/config.ts" && !typeOnly).map(({ from }) => from);
  expect(users.filter((path) => /^server\/(procedures|market|webhooks|store)\//.test(path))).toEqual([]);
});

test("there is no folder for odds and ends, and no barrel", () => {
  const odd = files.filter(({ path }) => /\/(utils?|lib|helpers?|services|common)\/|\/index\.ts$/.test(path));
  expect(odd.map(({ path }) => path)).toEqual([]);
});

test("the SDK's package imports nothing of the server, and only what its users install", async () => {
  const names = await readdir("client-sdk/src", { recursive: true });
  const sources = names.filter((name) => name.endsWith(".ts")).map((name) => join("client-sdk/src", name));
  expect(sources.length).toBeGreaterThan(15);
  const targets = await Promise.all(
    sources.map(async (path) => {
      const source = await readFile(path, "utf8");
      return importPatterns.flatMap(({ pattern }) =>
        [...source.matchAll(pattern)].map(([, , target = ""]) => ({
          from: path,
          to: target.startsWith(".") ? normalize(join(dirname(path), target)) : target,
        })),
      );
    }),
  );
  const isAllowed = ({ from, to }: { from: string; to: string }) =>
    to.startsWith("client-sdk/src/") ||
    (/^@trpc\/(client|server)$/.test(to) && /\/(trpc|generated\/router)\.ts$/.test(from)) ||
    (to.startsWith("node:") && from === "client-sdk/src/node.ts");
  expect(targets.flat().filter((each) => !isAllowed(each))).toEqual([]);
});
