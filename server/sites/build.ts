import { spawn } from "node:child_process";
import { createHash, hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { takeLock } from "../fileLock.ts";
import { readManifest, writeManifest } from "./manifest.ts";
import { folderOf, root, type Site } from "./sites.ts";

/** How long to wait for another process that builds the same site. */
const LOCK_WAIT_MS = 120_000;

export interface BuildResult {
  /** `fresh`: it was built from the same inputs before; `absent`: this installation has no builder, or failed to build. */
  outcome: "built" | "fresh" | "absent";
  /** What the builder printed, when it failed. */
  failure?: string;
  seconds: number;
}

/**
 * Builds a site, unless what it is built from has not changed since the last time. Of several processes, one builds and
 * the others wait for it. The folder is replaced when everything is there: a build that is killed leaves the old one.
 * `onBuilder` is called when the builder's process runs.
 */
export async function buildSite(site: Site, folder = folderOf(site), onBuilder = () => {}): Promise<BuildResult> {
  const startedAt = performance.now();
  const result = (outcome: BuildResult["outcome"], failure?: string): BuildResult => {
    return { outcome, failure, seconds: (performance.now() - startedAt) / 1_000 };
  };
  if (!existsSync(resolve(root, site.builder))) return result("absent");
  const inputs = hashOfInputs(site);
  const isFresh = async () => (await readManifest(folder))?.inputs === inputs;
  if (await isFresh()) return result("fresh");

  await mkdir(dirname(folder), { recursive: true });
  const lock = await takeLock(`${folder}.lock`, LOCK_WAIT_MS);
  if (lock === null) return result("absent", `Another process has been building ${site.name} for too long.`);
  try {
    if (await isFresh()) return result("fresh");
    await removeLeftovers(folder);
    const next = await mkdtemp(`${folder}-next-`);
    const building = run(site, next);
    onBuilder();
    const { code, output } = await building;
    if (code !== 0) {
      await rm(next, { recursive: true });
      return result("absent", output);
    }
    await writeManifest(next, inputs);
    await replace(folder, next);
    return result("built");
  } finally {
    lock.release();
  }
}

/**
 * Returns a hash of every file that the site is built from, and of their names. It reads the hundreds of small files
 * synchronously, in some ten milliseconds: asynchronous calls take five times as much CPU time, at every start.
 */
function hashOfInputs(site: Site): string {
  const all = createHash("sha256");
  for (const file of inputFilesOf(site)) {
    all.update(`${file}\0`).update(hash("sha256", readFileSync(resolve(root, file)), "buffer"));
  }
  return all.digest("hex");
}

function inputFilesOf({ inputs }: Site): string[] {
  const lists = inputs.map((input) => {
    const stats = statSync(resolve(root, input), { throwIfNoEntry: false });
    if (stats === undefined) return [];
    if (stats.isFile()) return [input];
    return readdirSync(resolve(root, input), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/[\\/](node_modules|dist)([\\/]|$)/.test(entry.parentPath))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  });
  return lists.flat().sort();
}

/** Removes what builds that were killed have left. The lock is held, so none of it is in use. */
async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(dirname(folder));
  const leftovers = names.filter((name) => /-(next|old)-/.test(name) && name.startsWith(`${basename(folder)}-`));
  for (const name of leftovers) await rm(join(dirname(folder), name), { recursive: true, force: true });
}

/** A folder cannot be renamed over another one: killed between the two renames, the site is missing and built again. */
async function replace(folder: string, next: string): Promise<void> {
  if (existsSync(folder)) {
    const old = next.replace("-next-", "-old-");
    await rename(folder, old);
    await rename(next, folder);
    await rm(old, { recursive: true });
  } else {
    await rename(next, folder);
  }
}

/** In a process of its own, so that the service keeps nothing of a bundler in its memory. */
function run({ builder, niceness = 0 }: Site, outputFolder: string): Promise<{ code: number | null; output: string }> {
  const parameters = [resolve(root, builder), outputFolder];
  const child = spawn(process.execPath, parameters, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  // Never below our own, which only root may do: `nice npm run build` is nicer already.
  if (child.pid !== undefined && niceness > getPriority()) setPriority(child.pid, niceness);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  // A build must not outlive the process that waits for it: Ctrl-C during the first start leaves nothing running.
  const stop = () => child.kill();
  process.once("exit", stop);
  return new Promise((resolve) => {
    const end = (code: number | null, text: string) => {
      process.removeListener("exit", stop);
      resolve({ code, output: text });
    };
    child.once("error", (error) => end(1, error.message));
    child.once("close", (code) => end(code, output));
  });
}
