import { execFile } from "node:child_process";
import { cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** Copies the files that git tracks, as they are in the checkout. Those that were deleted there are left out. */
export async function copyTrackedFiles(checkout: string, target: string): Promise<void> {
  const deleted = new Set(await listFiles(checkout, "--deleted"));
  for (const name of await listFiles(checkout, "--cached")) {
    if (deleted.has(name)) continue;
    await mkdir(dirname(join(target, name)), { recursive: true });
    await cp(join(checkout, name), join(target, name), { verbatimSymlinks: true });
  }
}

async function listFiles(checkout: string, which: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("git", ["ls-files", "-z", which], {
    cwd: checkout,
    maxBuffer: 64_000_000,
  });
  return stdout.split("\0").filter((name) => name !== "");
}
