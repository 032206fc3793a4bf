import { readFile } from "node:fs/promises";
import type { Plugin } from "vite";

/** Puts the wordmark into `index.html`, so that something is painted while the scripts are on their way. */
export function startingPage(wordmark: URL): Plugin {
  return {
    name: "wordmark-before-the-first-script",
    transformIndexHtml: async (html) => html.replace("<!-- wordmark -->", await readFile(wordmark, "utf8")),
  };
}
