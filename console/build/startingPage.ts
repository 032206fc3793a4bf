import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "vite";

/**
 * Puts the wordmark into `index.html`, so that something is painted while the scripts are on their way, and writes
 * `visitor.html`, the same page for a browser without a session. Its scripts need not ask who is signed in.
 */
export function startingPage(wordmark: URL): Plugin {
  return {
    name: "starting-page",
    transformIndexHtml: async (html) => html.replace("<!-- wordmark -->", await readFile(wordmark, "utf8")),
    async writeBundle({ dir = "" }) {
      const page = await readFile(join(dir, "index.html"), "utf8");
      await writeFile(join(dir, "visitor.html"), page.replace("<html ", "<html data-visitor "));
    },
  };
}
