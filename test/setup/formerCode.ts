import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const root = new URL("../..", import.meta.url).pathname;
const MIGRATIONS = "prisma/migrations";

/** Our own packages: links within the checkout, so that each copy of it gets links to itself. */
const OWN_PACKAGES = "@rebid";

const git = (...words: string[]) => execFileSync("git", words, { cwd: root, maxBuffer: 1e9 });
const linesOf = (output: Buffer) =>
  output
    .toString()
    .split("\n")
    .filter((line) => line !== "");

/** A commit before migrations that are in the checkout today, and their names. */
export interface Predecessor {
  commit: string;
  migrations: string[];
}

/**
 * Returns, oldest first, the commits before those that added migrations, from the migration `first` on. A migration that is not
 * committed yet comes after HEAD.
 * @throws Error when the checkout has no history, or not all of it
 */
export function commitsBefore(first: string): Predecessor[] {
  requireHistory();
  const missing = new Set(readdirSync(join(root, MIGRATIONS)).filter((name) => name >= first && /^\d/.test(name)));
  const found: Predecessor[] = [];
  let commit = "";
  const log = git(
    "log",
    "--reverse",
    "--no-renames",
    "--diff-filter=A",
    "--format=%H",
    "--name-only",
    "--",
    MIGRATIONS,
  );
  for (const line of linesOf(log)) {
    if (!line.startsWith(MIGRATIONS)) {
      commit = line;
      continue;
    }
    const name = line.split("/")[2] ?? "";
    if (missing.delete(name)) add(found, `${commit}^`, name);
  }
  for (const name of missing) add(found, "HEAD", name);
  return found;
}

function add(found: Predecessor[], revision: string, migration: string): void {
  const commit = git("rev-parse", "--short", revision).toString().trim();
  const known = found.find((each) => each.commit === commit);
  if (known) known.migrations.push(migration);
  else found.push({ commit, migrations: [migration] });
}

function requireHistory(): void {
  let isShallow: string;
  try {
    isShallow = git("rev-parse", "--is-shallow-repository").toString().trim();
  } catch (cause) {
    throw new Error("Former code comes from git's history, and this folder is no clone: run this test in one.", {
      cause,
    });
  }
  if (isShallow !== "false") {
    throw new Error("Former code comes from git's history, and this clone is shallow: run `git fetch --unshallow`.");
  }
}

/** Writes the files of a commit into a folder that does not exist yet, with today's packages. */
export function checkOut(commit: string, folder: string): void {
  mkdirSync(join(folder, "node_modules", OWN_PACKAGES), { recursive: true });
  execFileSync("tar", ["-x", "-C", folder], { input: git("archive", commit) });
  const packages = join(root, "node_modules");
  for (const name of readdirSync(packages)) {
    if (name !== OWN_PACKAGES) symlinkSync(join(packages, name), join(folder, "node_modules", name));
  }
  for (const name of readdirSync(join(packages, OWN_PACKAGES))) {
    const link = join(OWN_PACKAGES, name);
    symlinkSync(readlinkSync(join(packages, link)), join(folder, "node_modules", link));
  }
}
