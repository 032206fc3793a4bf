import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Request, RequestHandler, Response } from "express";
import { encodings, type Manifest, manifestFile, readManifest, type SiteFile } from "../sites/manifest.ts";
import { folderOf, type Site } from "../sites/sites.ts";
import { sendMethodNotAllowed } from "./sendError.ts";

interface SiteOptions {
  /** The path of its first page, such as `/docs`. */
  base: string;
  /** Files of the site that are served at the root of the service, such as `llms.txt`. */
  atRoot?: readonly string[];
  /** The page for every path below the base that has no file, `assets/` aside: that of an app with addresses of its own. */
  fallback?: string;
  /** The page that stands for the fallback in answers to browsers without this cookie. */
  visitors?: { page: string; cookie: string };
  /** Origins that its pages may send requests to, beside this service. */
  connect?: readonly string[];
  /** Origins that its pages may show pictures, audio and video from, beside this service. */
  media?: readonly string[];
  /** Where the site was built; by default, where `buildSite` puts it. */
  folder?: string;
}

/** Files whose name has a hash of their content never change. */
const immutable = "public, max-age=31536000, immutable";
const revalidate = "no-cache";

/**
 * Serves the files of a site that was built ahead. Only what its manifest lists is ever read. A page's policy allows
 * nothing inline but the scripts that the manifest names by their hashes. A site that is not built answers nothing: its
 * paths are 404 like any other unknown path.
 */
export function serveSite(site: Site, options: SiteOptions): RequestHandler {
  const folder = options.folder ?? folderOf(site);
  const current = manifestReader(folder);
  const policy = policyOf(options);
  return async (request, response, next) => {
    if (!isOurs(request.path, options)) return next();
    const manifest = await current();
    const found = manifest === null ? null : nameOf(request.path, manifest, options);
    const name = found === options.fallback ? pageFor(request, options) : found;
    const file = name === null ? undefined : manifest?.files[name];
    if (name === null || file === undefined) return next();
    if (request.method !== "GET" && request.method !== "HEAD") return sendMethodNotAllowed(response, ["GET"]);
    const { suffix, headers } = chooseEncoding(request, file);
    const bytes = await readFile(join(folder, name + suffix)).catch(() => null);
    if (bytes === null) return next(); // replaced by a newer build at this very moment
    response
      .vary("Accept-Encoding")
      .set({ "Cache-Control": name.startsWith("assets/") ? immutable : revalidate, ETag: file.etag, ...headers });
    if (options.visitors && found === options.fallback) response.vary("Cookie");
    if (name.endsWith(".html")) response.set("Content-Security-Policy", policy(file.inlineScripts));
    sendAs(response, name, bytes);
  };
}

const isOurs = (path: string, { base, atRoot = [] }: SiteOptions) =>
  path === base || path.startsWith(`${base}/`) || atRoot.some((name) => path === `/${name}`);

/** Returns the manifest as it is now: a site that is built while the service runs is served from then on. */
function manifestReader(folder: string): () => Promise<Manifest | null> {
  let known: { modifiedMs: number; manifest: Manifest | null } | null = null;
  return async () => {
    const modifiedMs = await stat(manifestFile(folder)).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    if (modifiedMs === null) return null;
    if (known?.modifiedMs !== modifiedMs) known = { modifiedMs, manifest: await readManifest(folder) };
    return known.manifest;
  };
}

/** Returns the name of the file that a path means, or null: `/docs` is `index.html`, `/docs/money` is `money.html`. */
function nameOf(path: string, { files }: Manifest, { base, fallback = "" }: SiteOptions): string | null {
  if (path.includes("//")) return null;
  const isBelow = path === base || path.startsWith(`${base}/`);
  const relative = (isBelow ? path.slice(base.length) : path).replace(/^\/|\/$/g, "");
  // A script of an earlier build is missed as such, and not taken from a page.
  const page = relative.startsWith("assets/") ? "" : fallback;
  const candidates = [relative, relative === "" ? "index.html" : `${relative}.html`, page];
  return candidates.find((name) => Object.hasOwn(files, name)) ?? null;
}

/** Only whether there is a cookie counts here: what it is worth, the page asks the API. */
function pageFor({ headers }: Request, { fallback, visitors }: SiteOptions): string | null {
  if (fallback === undefined || visitors === undefined) return fallback ?? null;
  return headers.cookie?.includes(`${visitors.cookie}=`) ? fallback : visitors.page;
}

function chooseEncoding(request: Request, file: SiteFile) {
  const encoding = request.acceptsEncodings([...file.encodings, "identity"]);
  if (encoding !== "br" && encoding !== "gzip") return { suffix: "", headers: {} };
  return { suffix: encodings[encoding], headers: { "Content-Encoding": encoding } };
}

function sendAs(response: Response, name: string, bytes: Buffer): void {
  const type = { ".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8" }[extname(name)];
  response.type(type ?? extname(name)).send(bytes); // Express responds with 304 when the ETag matches
}

function policyOf({ connect = [], media = [] }: SiteOptions) {
  const list = (...sources: string[]) => sources.join(" ");
  return (inlineScripts: readonly string[]) =>
    [
      "default-src 'none'",
      `script-src ${list("'self'", ...inlineScripts)}`,
      "style-src 'self'",
      `img-src ${list("'self'", "data:", ...media)}`,
      `media-src ${list("'self'", ...media)}`,
      "font-src 'self'",
      `connect-src ${list("'self'", ...connect)}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; ");
}
