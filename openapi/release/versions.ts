import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The part of a package's manifest that a release reads or writes. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  workspaces?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** The part of `package-lock.json` that repeats the manifests: by folder, "" being the root. */
interface LockFile {
  version: string;
  packages: Record<string, Manifest>;
}

export async function readManifest(directory: string): Promise<Manifest> {
  return readJson(join(directory, "package.json"));
}

/**
 * Writes a version into a checkout: its packages, what they ask of each other, and the lock file. `npm version` would ask
 * the registry for packages of this version, because it leaves the old ranges, and install everything again.
 */
export async function writeVersion(directory: string, version: string): Promise<void> {
  const lockPath = join(directory, "package-lock.json");
  const lock: LockFile = await readJson(lockPath);
  const { workspaces = [] } = await readManifest(directory);
  const manifests = await Promise.all(
    ["", ...workspaces].map(async (folder) => ({ folder, manifest: await readManifest(join(directory, folder)) })),
  );
  const own = new Set(manifests.map(({ manifest }) => manifest.name));
  for (const { folder, manifest } of manifests) {
    const locked = lock.packages[folder];
    if (locked === undefined) throw new Error(`package-lock.json lacks ${folder}. Run npm install.`);
    for (const each of [manifest, locked]) setVersion(each, version, own);
    await writeJson(join(directory, folder, "package.json"), manifest);
  }
  lock.version = version;
  await writeJson(lockPath, lock);
}

function setVersion(manifest: Manifest, version: string, own: ReadonlySet<string>): void {
  manifest.version = version;
  for (const ranges of [manifest.dependencies, manifest.devDependencies, manifest.peerDependencies]) {
    for (const name of Object.keys(ranges ?? {})) if (ranges && own.has(name)) ranges[name] = `^${version}`;
  }
}

async function readJson<Content>(path: string): Promise<Content> {
  return JSON.parse(await readFile(path, "utf8"));
}

/** As npm writes its files. */
async function writeJson(path: string, content: object): Promise<void> {
  await writeFile(path, `${JSON.stringify(content, null, 2)}\n`);
}
