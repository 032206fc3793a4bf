/** Builds the documentation into the folder that is its argument: `node docs/site/build.ts FOLDER`. */
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "vite";
import { z } from "zod";
import { llmsFullText, llmsText } from "./agents.ts";
import { readGuides } from "./guides.ts";
import { homePage } from "./home.ts";
import { type Assets, renderPage } from "./layout.ts";
import { buildReference } from "./reference/pages.ts";
import { searchIndexOf } from "./searchIndex.ts";

const client = join(import.meta.dirname, "client");
const folder = process.argv[2];
if (folder === undefined) throw new Error("Say which folder to build into.");

const ViteManifest = z.record(
  z.string(),
  z.object({ file: z.string(), css: z.array(z.string()).default([]), assets: z.array(z.string()).default([]) }),
);

/** Bundles scripts, styles and fonts under names with a hash of their content. */
async function buildAssets(output: string): Promise<Assets> {
  await build({
    root: client,
    base: "/docs/",
    configFile: false,
    logLevel: "warn",
    build: {
      outDir: output,
      emptyOutDir: false,
      assetsDir: "assets",
      assetsInlineLimit: 0,
      manifest: "vite.json",
      modulePreload: false,
      rolldownOptions: { input: [join(client, "main.ts"), join(client, "theme.ts")] },
    },
  });
  const manifest = ViteManifest.parse(JSON.parse(await readFile(join(output, "vite.json"), "utf8")));
  await rm(join(output, "vite.json"));
  const address = (file: string) => `/docs/${file}`;
  const main = manifest["main.ts"];
  const theme = manifest["theme.ts"];
  if (main === undefined || theme === undefined) throw new Error("Vite has not built the client's scripts.");
  const needed = /instrument-sans-latin-wght-normal.*\.woff2$/;
  return {
    main: address(main.file),
    theme: address(theme.file),
    styles: main.css.map(address),
    fonts: main.assets.filter((file) => needed.test(file)).map(address),
  };
}

async function write(file: string, content: string): Promise<void> {
  const path = join(folder ?? "", file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

const assets = await buildAssets(folder);
const guides = readGuides();
const reference = buildReference();
const pages = [homePage(guides), ...guides, ...reference.pages];
for (const page of pages) {
  const name = page.path === "" ? "index" : page.path;
  await write(`${name}.html`, renderPage(page, { pages, groups: reference.groups, assets }));
  await write(`${name}.md`, page.markdown);
}
await write("search.json", searchIndexOf(pages));
await write("llms.txt", llmsText(pages));
await write("llms-full.txt", llmsFullText(pages));
await copyFile(join(import.meta.dirname, "../../server/brand/favicon.svg"), join(folder, "favicon.svg"));
await cp(join(import.meta.dirname, "../pictures"), join(folder, "pictures"), { recursive: true });
