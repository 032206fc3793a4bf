import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { docsSite, folderOf, root } from "../sites/sites.ts";

/** A page of the documentation, in Markdown. */
export interface Guide {
  /** Part of its address, such as `contract`. */
  name: string;
  title: string;
  text: string;
}

/** Pages that list others. */
const lists = new Set(["index", "reference"]);

/**
 * Reads the guides as the built documentation has them, with everything that they include. Where it is not built, there is
 * only the contract, and without `docs/` nothing.
 */
export async function readGuides(): Promise<Guide[]> {
  const folder = folderOf(docsSite);
  const names = (await readdir(folder).catch(unlessMissing<string[]>([])))
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.replace(/\.md$/, ""))
    .filter((name) => !lists.has(name))
    .sort();
  if (names.length === 0) return readGuide(join(root, "docs"), "contract");
  return (await Promise.all(names.map((name) => readGuide(folder, name)))).flat();
}

async function readGuide(folder: string, name: string): Promise<Guide[]> {
  const text = await readFile(join(folder, `${name}.md`), "utf8").catch(unlessMissing(null));
  return text === null ? [] : [{ name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text }];
}

const unlessMissing =
  <Value>(value: Value) =>
  (error: NodeJS.ErrnoException): Value => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
