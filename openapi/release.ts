import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CommandFailure, runCommand, UsageError, withArguments } from "../server/commands/runCommand.ts";
import { bold, dim } from "../server/commands/terminal.ts";
import { describeChanges, unnamedChanges, unreleasedSection } from "./changes/changelog.ts";
import { compareDocuments } from "./changes/documents.ts";
import { copyTrackedFiles, linkInstallation } from "./release/copies.ts";
import { releaseChangelog, stepOf, versionAfter } from "./release/plan.ts";
import { buildPython } from "./release/python.ts";
import { readManifest, writeVersion } from "./release/versions.ts";
import { latestReleased, readDocument } from "./released.ts";

const usage = `npm run release -- [--dry-run] [--version <version>]
npm run release -- --pack [--python]

Prepares a release: builds what is published, and says what has changed for clients since the last one. Then it writes the
version into the packages and the changelog, keeps the OpenAPI document, commits and tags. It publishes nothing itself.
The pipeline deploy/release.yaml publishes what is tagged.

  --dry-run            builds and reports, and changes nothing in the checkout but the folder .build/release
  --version <version>  instead of the one that follows from the changes
  --pack               only builds the files of the version that the checkout has, into .build/release
  --python             with --pack: also the Python client, which needs python3 with venv, and PyPI`;

const checkout = join(import.meta.dirname, "..");
/** Where the files to publish are written. */
const output = join(checkout, ".build/release");

await runCommand({
  usage,
  parse: withArguments(
    {
      options: {
        "dry-run": { type: "boolean", default: false },
        version: { type: "string" },
        pack: { type: "boolean", default: false },
        python: { type: "boolean", default: false },
      },
      maxPositionals: 0,
    },
    ({ values }) => {
      const { version, pack: isPack } = values;
      if (isPack && (version !== undefined || values["dry-run"]))
        throw new UsageError("--pack builds the checkout as it is: leave out --dry-run and --version.");
      if (isPack) return () => pack(values.python);
      if (values.python) throw new UsageError("--python goes with --pack: a release always has the Python client.");
      if (version !== undefined && !/^\d+\.\d+\.\d+$/.test(version))
        throw new UsageError(`--version must be three numbers such as 1.2.3, not "${version}".`);
      return () => release({ isDryRun: values["dry-run"], version });
    },
  ),
});

async function release({ isDryRun, version: asked }: { isDryRun: boolean; version?: string }): Promise<void> {
  const isDirty = (await run("git", ["status", "--porcelain"], checkout)) !== "";
  if (isDirty && !isDryRun) throw new CommandFailure("There are changes that are not committed. Commit them first.");
  if (isDirty) console.log("Changes that are not committed are part of this dry run; new files are not.\n");

  const root = await readManifest(checkout);
  const changelog = await readFile(join(checkout, "CHANGELOG.md"), "utf8");
  const section = unreleasedSection(changelog);
  if (section === "") {
    const nothing = "CHANGELOG.md says nothing under [Unreleased]: there is nothing to release.";
    if (isDryRun) return console.log(nothing); // as right after a release
    throw new CommandFailure(nothing);
  }
  const released = await latestReleased();
  const changes = released ? compareDocuments(released.document, await readDocument()) : [];
  const unnamed = unnamedChanges(changes, section);
  if (unnamed.length > 0)
    throw new CommandFailure(
      `CHANGELOG.md does not name, under [Unreleased]:\n${describeChanges(unnamed).join("\n")}\nWrite each place in backticks.`,
    );

  const step = stepOf(root.version, changes, section);
  const version = asked ?? (released ? versionAfter(root.version, step.level) : root.version);
  console.log(
    bold(`Rebid ${version}`),
    dim(released ? `after ${released.version}: ${step.reason}` : "the first release"),
  );
  console.log(`\n${bold("What changes for clients")}`);
  for (const line of describeChanges(changes)) console.log(`  ${line}`);
  if (changes.length === 0) console.log(released ? "  nothing in the document" : "  everything is new");
  console.log(`\n${bold("What the changelog says")}\n${section.replaceAll(/^/gm, "  ")}`);

  const date = new Date().toISOString().slice(0, 10);
  await inCopy(async (copy) => {
    await prepare(copy, version, releaseChangelog(changelog, version, date));
    await build(copy, version, true);
  });
  if (isDryRun) return console.log(dim("\nThis was a dry run: nothing is committed, tagged or published."));
  await prepare(checkout, version, releaseChangelog(changelog, version, date));
  await run("git", ["add", "--all"], checkout);
  await run("git", ["commit", "--message", `Version ${version}`], checkout);
  await run("git", ["tag", "--annotate", `v${version}`, "--message", `Version ${version}`], checkout);
  console.log(`\nCommitted and tagged as v${version}. The pipeline publishes it after:\n  git push --follow-tags`);
}

async function pack(withPython: boolean): Promise<void> {
  const { version } = await readManifest(checkout);
  await inCopy((copy) => build(copy, version, withPython));
}

/** Works in a copy of the tracked files, with the installed packages. */
async function inCopy(work: (copy: string) => Promise<void>): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), "rebid-release-"));
  try {
    await copyTrackedFiles(checkout, copy);
    await linkInstallation(checkout, copy);
    await work(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Writes the version into a checkout: its packages, its changelog, and the documents that say it. */
async function prepare(directory: string, version: string, changelog: string): Promise<void> {
  await writeVersion(directory, version);
  await writeFile(join(directory, "CHANGELOG.md"), changelog);
  await Promise.all(["openapi", "sdk"].map((script) => run("npm", ["run", script], directory)));
  await cp(join(directory, "openapi/openapi.json"), join(directory, `openapi/released/${version}.json`));
}

/**
 * Builds the packages and the archive of the service, and prints their sizes. The Python client is in a folder of its own,
 * because its sdist has the name of that archive.
 */
async function build(directory: string, version: string, withPython: boolean): Promise<void> {
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const { workspaces = [] } = await readManifest(directory);
  const manifests = await Promise.all(workspaces.map((workspace) => readManifest(join(directory, workspace))));
  const published = manifests.filter((manifest) => !manifest.private).map(({ name }) => `--workspace=${name}`);
  await Promise.all([
    run("npm", ["pack", ...published, "--pack-destination", output], directory), // each builds itself before
    run("npm", ["run", "build"], directory),
    withPython && buildPython(run, checkout, directory, join(output, "python")),
  ]);
  const excluded = ["node_modules", "dist", ".build/*.lock"].map((pattern) => `--exclude=${pattern}`);
  // With the built pages, which `npm start` would otherwise build; production never does.
  const archive = join(output, `rebid-${version}.tar.gz`);
  const root = `--transform=s,^\\.,rebid-${version},`;
  await run(
    "tar",
    // The service's user may read it: the folder that is packed is a temporary one, its owner's only.
    ["--create", "--gzip", "--file", archive, ...excluded, "--mode=go=rX", root, "."],
    directory,
  );

  console.log(`\n${bold("What would be published")} ${dim(".build/release/")}`);
  const files = await readdir(output, { recursive: true });
  for (const file of files.filter((name) => name !== "python").sort()) {
    const { size } = await stat(join(output, file));
    const list = file.endsWith(".whl")
      ? run(
          "python3",
          ["-c", "import sys, zipfile; print('\\n'.join(zipfile.ZipFile(sys.argv[1]).namelist()))", file],
          output,
        )
      : run("tar", ["--list", "--file", file], output);
    const entries = (await list).split("\n").length;
    console.log(
      `  ${file.padEnd(36)} ${Math.ceil(size / 1000)
        .toLocaleString("en")
        .padStart(7)} kB ${entries.toLocaleString("en").padStart(6)} files`,
    );
  }
}

async function run(command: string, parameters: string[], cwd: string): Promise<string> {
  try {
    return (await promisify(execFile)(command, parameters, { cwd, maxBuffer: 64_000_000 })).stdout.trimEnd();
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string }; // as execFile rejects
    throw new CommandFailure(`${command} ${parameters.join(" ")} failed\n${stdout}${stderr}`);
  }
}
