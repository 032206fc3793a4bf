import { execFile } from "node:child_process";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { readManifest } from "./versions.ts";

/** Copies the files that git tracks, as they are in the checkout. Those that were deleted there are left out. */
export async function copyTrackedFiles(checkout: string, target: string): Promise<void> {
  const deleted = new Set(await listFiles(checkout, "--deleted"));
  for (const name of await listFiles(checkout, "--cached")) {
    if (deleted.has(name)) continue;
    await mkdir(dirname(join(target, name)), { recursive: true });
    await cp(join(checkout, name), join(target, name), { verbatimSymlinks: true });
  }
}

/** Lends a copy the packages that are installed in the checkout. Its workspaces are its own. */
export async function linkInstallation(checkout: string, copy: string): Promise<void> {
  const { workspaces = [] } = await readManifest(copy);
  const folders = new Map<string, string>();
  for (const workspace of workspaces) {
    const { name } = await readManifest(join(copy, workspace));
    folders.set(name, join(copy, workspace));
  }
  const scopes = new Set([...folders.keys()].map((name) => dirname(name)));
  for (const entry of await readdir(join(checkout, "node_modules"))) {
    if (!scopes.has(entry)) folders.set(entry, join(checkout, "node_modules", entry));
  }
  for (const [name, folder] of folders) {
    const link = join(copy, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(folder, link);
  }
}

async function listFiles(checkout: string, which: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("git", ["ls-files", "-z", which], {
    cwd: checkout,
    maxBuffer: 64_000_000,
  });
  return stdout.split("\0").filter((name) => name !== "");
}
