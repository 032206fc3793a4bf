import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Found, ok, problem } from "./finding.ts";

/**
 * Looks at how old the newest backup is: that of a file, or of the newest file in a folder.
 * @param maxHours older ones are a problem
 */
export async function examineBackup(path: string, maxHours: number): Promise<Found[]> {
  const newest = await newestIn(path);
  if (newest === null) return [problem(`there is no backup at ${path}`, "Make one now, and then every day.")];
  const hours = (Date.now() - newest) / 3_600_000;
  const text = `the newest backup at ${path} is ${hours.toFixed(1)} hours old`;
  return [hours > maxHours ? problem(text, `Find out why none was made in the last ${maxHours} hours.`) : ok(text)];
}

async function newestIn(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isDirectory()) return found?.mtimeMs ?? null;
  const files = await Promise.all((await readdir(path)).map((name) => stat(join(path, name))));
  return files.length === 0 ? null : Math.max(...files.map(({ mtimeMs }) => mtimeMs));
}
