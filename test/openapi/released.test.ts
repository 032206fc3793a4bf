import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeChanges, unnamedChanges, unreleasedSection } from "../../openapi/changes/changelog.ts";
import { compareDocuments } from "../../openapi/changes/documents.ts";
import { releaseChangelog, stepOf, versionAfter } from "../../openapi/release/plan.ts";
import { latestReleased, readDocument } from "../../openapi/released.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const Manifest = z.object({ version: z.string(), workspaces: z.array(z.string()).default([]) });
const readManifest = async (folder: string) =>
  Manifest.parse(JSON.parse(await readFile(`${folder}/package.json`, "utf8")));

test("the packages, the document and the header of every response have one version", async () => {
  const { version, workspaces } = await readManifest(".");
  const published = workspaces.filter((folder) => folder.startsWith("client-sdk"));
  expect(published.length).toBeGreaterThan(1);
  for (const folder of published) expect([folder, (await readManifest(folder)).version]).toEqual([folder, version]);
  expect(await readDocument()).toMatchObject({ info: { version } });
  for (const path of ["/tasks", "/no/such/path", "/livez"]) {
    expect((await rest(service.url, "GET", path)).headers.get("rebid-version")).toBe(version);
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
