import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { buildSite } from "../../server/sites/build.ts";
import { readManifest } from "../../server/sites/manifest.ts";
import type { Site } from "../../server/sites/sites.ts";

let directory: string;
let site: Site;
let folder: string;

/** A builder that copies its input, says how often it ran, and fails if the input says so. */
const builder = (input: string, log: string) => `
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
const text = readFileSync(${JSON.stringify(input)}, "utf8");
appendFileSync(${JSON.stringify(log)}, "ran\\n");
const out = process.argv[2];
writeFileSync(out + "/index.html", "<script>1</script><script src='x.js'></script>" + text);
if (text.includes("broken")) { console.error("line 1 is broken"); process.exit(1); }
if (text.includes("killed")) process.kill(process.pid, "SIGKILL");
mkdirSync(out + "/assets");
writeFileSync(out + "/assets/main-1a2b.js", "// " + text.repeat(200));`;

const runs = async () => (await readFile(join(directory, "log"), "utf8")).split("\n").length - 1;
const write = (text: string) => writeFile(join(directory, "input/page.md"), text);

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-site-"));
  await mkdir(join(directory, "input"));
  await write("first");
  const file = join(directory, "build.mjs");
  await writeFile(file, builder(join(directory, "input/page.md"), join(directory, "log")));
  site = { name: "example", builder: file, inputs: [join(directory, "input")] };
  folder = join(directory, "out/example");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("a site is built when it is missing or its input has changed, and not otherwise", async () => {
  expect((await buildSite(site, folder)).outcome).toBe("built");
  expect((await buildSite(site, folder)).outcome).toBe("fresh");
  await write("second");
  expect((await buildSite(site, folder)).outcome).toBe("built");
  expect(await readFile(join(folder, "index.html"), "utf8")).toContain("second");
  await writeFile(join(directory, "input/new.md"), "");
  expect((await buildSite(site, folder)).outcome).toBe("built");
  expect(await runs()).toBe(3);
});

test("of several that want to build, one does", async () => {
  const outcomes = await Promise.all([1, 2, 3].map(async () => (await buildSite(site, folder)).outcome));
  expect(outcomes.sort()).toEqual(["built", "fresh", "fresh"]);
  expect(await runs()).toBe(1);
});

test.each(["broken", "killed"])("a build that is %s leaves what was there, and nothing half", async (how) => {
  await buildSite(site, folder);
  await write(how);
  const { outcome, failure } = await buildSite(site, folder);
  expect(outcome).toBe("absent");
  if (how === "broken") expect(failure).toContain("line 1 is broken");
  expect(await readFile(join(folder, "index.html"), "utf8")).toContain("first");
  expect((await readdir(join(directory, "out"))).sort()).toEqual(["example", "example.lock"]);
});

test("without a builder, as in an installation for production, the site is absent", async () => {
  expect((await buildSite({ ...site, builder: "no/such/file.ts" }, folder)).outcome).toBe("absent");
  expect(existsSync(folder)).toBe(false);
});

test("the manifest lists every file, its compressed forms and the scripts inside of pages", async () => {
  await buildSite(site, folder);
  const files = (await readManifest(folder))?.files ?? {};
  expect(Object.keys(files).sort()).toEqual(["assets/main-1a2b.js", "index.html"]);
  expect(files["assets/main-1a2b.js"]?.encodings).toEqual(["br", "gzip"]);
  expect(files["index.html"]).toMatchObject({
    encodings: [],
    inlineScripts: ["'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"],
  });
});
