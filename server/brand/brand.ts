import { readFileSync } from "node:fs";

const read = (file: string) => readFileSync(new URL(file, import.meta.url), "utf8");

/** The colours, fonts and corners of all pages, as CSS. A page that Vite builds imports the file itself. */
export const tokens = read("tokens.css")
  .replace(/\/\*[\s\S]*?\*\//g, "")
  .replace(/\s+/g, " ");

/** The word "Rebid" as inline SVG, in the colour of the text around it. Its height comes from the page's CSS. */
export const wordmark = read("wordmark.svg").replaceAll("\n", "");

/** The icon as a `data:` address, for pages that come without files of their own. */
export const faviconUrl = `data:image/svg+xml,${encodeURIComponent(read("favicon.svg").replaceAll("\n", ""))}`;
