import { join } from "node:path";

/** Pages that are built ahead, by a program of their own, and served as files. */
export interface Site {
  readonly name: string;
  /** The program that builds it: it gets the folder that it has to fill as its only argument. */
  readonly builder: string;
  /** How much it yields to the other builds: two sites are ready sooner when the longer build goes first. */
  readonly niceness?: number;
  /** The files and folders that it is built from. When one of them changes, the site is stale. */
  readonly inputs: readonly string[];
}

/** The repository. */
export const root = join(import.meta.dirname, "../..");

/** The documentation. */
export const docsSite: Site = {
  name: "docs",
  builder: "docs/site/build.ts",
  niceness: 5,
  inputs: ["docs", "README.md", "CONTRIBUTING.md", "openapi/openapi.json", "server/brand", "package-lock.json"],
};

/** The front end for people, at `/app`. */
export const consoleSite: Site = {
  name: "console",
  builder: "console/build/site.ts",
  inputs: [
    "console/src",
    "console/build",
    "console/public",
    "console/index.html",
    "console/vite.config.ts",
    "client-sdk/src",
    "server/brand",
    "openapi/openapi.json",
    "package-lock.json",
  ],
};

/** Every site that `npm start` keeps up to date. Paths are relative to `root`. */
export const sites: readonly Site[] = [docsSite, consoleSite];

/** Where built sites are kept: each in a folder with its name. A release carries them. */
const builtSites = join(root, ".build");

/** Returns where a site's files are once it is built, with `manifest.json` beside them. */
export function folderOf({ name }: Site, buildFolder = builtSites): string {
  return join(buildFolder, name);
}
