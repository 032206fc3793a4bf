import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { describeChanges, unnamedChanges, unreleasedSection } from "../../openapi/changes/changelog.ts";
import { compareDocuments } from "../../openapi/changes/documents.ts";
import { releaseChangelog, stepOf, versionAfter } from "../../openapi/release/plan.ts";
import { readManifest, writeVersion } from "../../openapi/release/versions.ts";
import { latestReleased, readDocument } from "../../openapi/released.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("the packages, the document and the header of every response have one version", async () => {
  const { version, workspaces = [] } = await readManifest(".");
  const published = workspaces.filter((folder) => folder.startsWith("client-sdk"));
  expect(published.length).toBeGreaterThan(1);
  for (const folder of published) expect([folder, (await readManifest(folder)).version]).toEqual([folder, version]);
  expect(await readDocument()).toMatchObject({ info: { version } });
  for (const path of ["/tasks", "/no/such/path", "/livez"]) {
    expect((await rest(service.url, "GET", path)).headers.get("rebid-version")).toBe(version);
  }
});

test("what a release writes can be installed: packages ask each other for the new version, as does the lock file", async () => {
  const { workspaces = [] } = await readManifest(".");
  const copy = await mkdtemp(join(tmpdir(), "rebid-versions-"));
  try {
    for (const folder of ["", ...workspaces]) {
      await mkdir(join(copy, folder), { recursive: true });
      await cp(join(folder, "package.json"), join(copy, folder, "package.json"));
    }
    await cp("package-lock.json", join(copy, "package-lock.json"));
    await writeVersion(copy, "9.8.7");
    for (const folder of ["", ...workspaces]) expect((await readManifest(join(copy, folder))).version).toBe("9.8.7");
    expect((await readManifest(join(copy, "console"))).devDependencies).toMatchObject({ "@rebid/sdk": "^9.8.7" });
    // Without a cache, offline: npm refuses a lock file that is not of these manifests, and cannot ask for our packages.
    const options = ["--dry-run", "--offline", "--ignore-scripts", "--cache", join(copy, "cache")];
    await promisify(execFile)("npm", ["ci", ...options], { cwd: copy });
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
});

test("the changelog names every change since the last release that breaks a client", async () => {
  const released = await latestReleased();
  if (released === null) throw new Error("openapi/released has no document");
  const changes = compareDocuments(released.document, await readDocument());
  const unnamed = unnamedChanges(changes, unreleasedSection(await readFile("CHANGELOG.md", "utf8")));
  const advice = "Undo the change, or write its place in backticks under [Unreleased] in CHANGELOG.md.";
  expect(describeChanges(unnamed), advice).toEqual([]);
});

test("a release is a major one if it breaks clients, a minor one if it adds something, else a patch", () => {
  const change = (isBreaking: boolean) => [{ place: "Task.title", what: "removed", isBreaking }];
  const next = (current: string, ...[changes, section]: [Parameters<typeof stepOf>[1], string]) =>
    versionAfter(current, stepOf(current, changes, section).level);
  expect(next("1.2.3", change(true), "")).toBe("2.0.0");
  expect(next("0.2.3", change(true), "")).toBe("0.3.0");
  expect(next("1.2.3", change(false), "")).toBe("1.3.0");
  expect(next("1.2.3", [], "### Added\n\n- A command.")).toBe("1.3.0");
  expect(next("1.2.3", [], "### Fixed\n\n- A message.")).toBe("1.2.4");
  const changelog = "# Changelog\n\n## [Unreleased]\n\n- More.\n\n## [1.2.3] - 2026-01-01\n";
  expect(releaseChangelog(changelog, "1.3.0", "2026-02-01")).toBe(
    "# Changelog\n\n## [Unreleased]\n\n## [1.3.0] - 2026-02-01\n\n- More.\n\n## [1.2.3] - 2026-01-01\n",
  );
});
