import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const file = import.meta.resolve("@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2");

/**
 * The type face of all pages of Rebid, as CSS. The embedded pages come without files of their own, so it stands in the
 * page, in 40 kB: they are read on this machine only.
 */
export const pageFont = `@font-face { font-family: "Instrument Sans Variable"; font-weight: 400 700; font-display: swap;
  src: url(data:font/woff2;base64,${readFileSync(fileURLToPath(file)).toString("base64")}) format("woff2") }`;
