import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** A page of the documentation, in Markdown. */
export interface Guide {
  /** Part of its address, such as `contract`. */
  name: string;
  title: string;
  text: string;
}

const docs = new URL("../../docs/", import.meta.url);
/** The pages that are written for readers of the API; `docs/` has others for people who change the code. */
const guidesFolder = new URL("guides/", docs);

/** Reads the guides, of which there is one a file in `docs/guides`, and the contract. A server without `docs/` has none. */
export async function readGuides(): Promise<Guide[]> {
  const names = await readdir(guidesFolder).catch(unlessMissing<string[]>([]));
  const files = names
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => new URL(name, guidesFolder));
  return (await Promise.all([...files, new URL("contract.md", docs)].map(readGuide))).flat();
}

async function readGuide(file: URL): Promise<Guide[]> {
  const text = await readFile(file, "utf8").catch(unlessMissing(null));
  if (text === null) return [];
  const name = basename(fileURLToPath(file), ".md");
  return [{ name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text }];
}

const unlessMissing =
  <Value>(value: Value) =>
  (error: NodeJS.ErrnoException): Value => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
