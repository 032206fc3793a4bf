import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { buildSite } from "../../server/sites/build.ts";
import { docsSite, folderOf } from "../../server/sites/sites.ts";

/** Builds the documentation unless that was done before; throws with what the builder printed if it fails. */
export async function builtDocs(): Promise<string> {
  const { outcome, failure } = await buildSite(docsSite);
  if (outcome === "absent") throw new Error(`The documentation cannot be built.\n${failure}`);
  return folderOf(docsSite);
}

/** A block of code in a guide. */
export interface Block {
  guide: string;
  language: string;
  /** What follows the language in the fence: `repository`, `error=CODE`, `not-run="reason"`, or a file's name. */
  info: string;
  code: string;
}

const fence = /^( *)```(\w*)([^\n]*)\n([\s\S]*?)\n\1```$/gm;

/** Returns the blocks of a page, as its Markdown shows them: with everything that it includes. */
export async function blocksOf(folder: string, guide: string): Promise<Block[]> {
  return blocksIn(await readFile(join(folder, `${guide}.md`), "utf8"), guide);
}

/** Returns the blocks in a text. */
export function blocksIn(markdown: string, guide = ""): Block[] {
  return [...markdown.matchAll(fence)].map(([, indent = "", language = "", info = "", code = ""]) => ({
    ...{ guide, language, info: info.trim() },
    code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}
