import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { z } from "zod";

const manifestName = "manifest.json";

/** How a file may be sent: as it is, or as one of the compressed files beside it. */
export const encodings = { br: ".br", gzip: ".gz" } as const;

const SiteFile = z.object({
  etag: z.string(),
  /** Which compressed files there are. */
  encodings: z.array(z.enum(["br", "gzip"])),
  /** Hashes of the inline scripts of a page, as they stand in a Content-Security-Policy. */
  inlineScripts: z.array(z.string()),
});

const Manifest = z.object({
  /** What the site was built from; see `hashOfInputs`. */
  inputs: z.string(),
  /** By path inside the folder, such as `assets/main-4f2a.js`. */
  files: z.record(z.string(), SiteFile),
});

export type SiteFile = z.infer<typeof SiteFile>;
export type Manifest = z.infer<typeof Manifest>;

/** Returns the manifest of a built site, or null if the site is not built. */
export async function readManifest(folder: string): Promise<Manifest | null> {
  const text = await readFile(join(folder, manifestName), "utf8").catch(() => null);
  return text === null ? null : Manifest.parse(JSON.parse(text));
}

/** The manifest's own file. Its time changes with every build. */
export const manifestFile = (folder: string) => join(folder, manifestName);

/** What is worth compressing. Fonts and pictures are compressed already. */
const compressible = /\.(html|css|js|json|svg|md|txt|xml)$/;
const MIN_COMPRESSED_BYTES = 1_000;
/** Level 9 takes ten times as long as level 5, and saves 2 % of the bytes. The first start waits for it. */
const brotliOptions = { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } };

/** Compresses the files of a site that was just built, and writes the manifest that lists them. */
export async function writeManifest(folder: string, inputs: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = await Promise.all(
    paths.map(async (path) => [path.slice(folder.length + 1).replaceAll("\\", "/"), await prepare(path)] as const),
  );
  const manifest: Manifest = { inputs, files: Object.fromEntries(files) };
  await writeFile(join(folder, manifestName), JSON.stringify(manifest));
}

async function prepare(path: string): Promise<SiteFile> {
  const bytes = await readFile(path);
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url")}"`; // weak: it names all encodings
  const inlineScripts = path.endsWith(".html") ? inlineScriptsOf(bytes.toString()) : [];
  if (!compressible.test(path) || bytes.length < MIN_COMPRESSED_BYTES) return { etag, encodings: [], inlineScripts };
  await Promise.all([
    promisify(brotliCompress)(bytes, brotliOptions).then((small) => writeFile(path + encodings.br, small)),
    promisify(gzip)(bytes, { level: 9 }).then((small) => writeFile(path + encodings.gzip, small)),
  ]);
  return { etag, encodings: ["br", "gzip"], inlineScripts };
}

function inlineScriptsOf(html: string): string[] {
  return [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(
    ([, code = ""]) => `'sha256-${createHash("sha256").update(code).digest("base64")}'`,
  );
}
