import { readdir, readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const bareImport = /^(?:import|export)\s[^;]*?from\s+"([^."][^"]*)";|\bimport\("([^."][^"]*)"\)/gm;

/** The packages that the TypeScript files of some folders import. */
async function packagesOf(folders: string[], isOurs: (file: string) => boolean): Promise<string[]> {
  const found = new Set<string>();
  const names = await Promise.all(
    folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((name) => join(folder, name))),
  );
  for (const file of names.flat().filter((name) => name.endsWith(".ts") && isOurs(name))) {
    for (const [, statically, dynamically] of (await readFile(file, "utf8")).matchAll(bareImport)) {
      const specifier = statically ?? dynamically ?? "";
      if (specifier.startsWith("node:") || builtinModules.includes(specifier)) continue;
      const [scope = "", rest = ""] = specifier.split("/");
      found.add(scope.startsWith("@") ? `${scope}/${rest}` : scope);
    }
  }
  return [...found].sort();
}

const readManifest = async (file: string): Promise<Manifest> => JSON.parse(await readFile(file, "utf8"));
/** One sends traces, and says which packages an operator adds for that; the other is `npm run mails`, for developers. */
const isOptional = (file: string) =>
  ["server/start/sendSpans.ts", "server/notifications/mail/compile.ts"].includes(file);
const isEmbedded = (file: string) => file.startsWith("server/local/");

test("the service imports only dependencies, so that `npm ci --omit=dev` installs everything it needs", async () => {
  const { dependencies = {} } = await readManifest("package.json");
  const imported = await packagesOf(["server", "prisma"], (file) => !isEmbedded(file) && !isOptional(file));
  expect(imported.length).toBeGreaterThan(15);
  expect(imported.filter((name) => !(name in dependencies))).toEqual([]);
});

test("the embedded services' own packages are development dependencies of their workspace", async () => {
  const { dependencies = {} } = await readManifest("package.json");
  const local = await readManifest("server/local/package.json");
  // npm installs a workspace's dependencies even with --omit=dev.
  expect(local.dependencies).toBeUndefined();
  const imported = await packagesOf(["server"], isEmbedded);
  expect(imported.length).toBeGreaterThan(3);
  expect(imported.filter((name) => !(name in dependencies) && !(name in (local.devDependencies ?? {})))).toEqual([]);
});
