import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import express from "express";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { serveSite } from "../../server/http/site.ts";
import { docsSite } from "../../server/sites/sites.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";
import { builtDocs } from "./blocks.ts";

const service = useService();
const AddressInfo = z.object({ port: z.number() });
let folder: string;
/** Every page by its address. */
let pages: Map<string, string>;

beforeAll(async () => {
  folder = await builtDocs();
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".html"));
  pages = new Map(
    await Promise.all(
      files.map(async (file) => {
        const path = `/docs/${file.replace(/(^index)?\.html$/, "")}`.replace(/\/$/, "");
        return [path, await readFile(join(folder, file), "utf8")] as const;
      }),
    ),
  );
  expect(pages.size).toBeGreaterThan(70);
});

const hrefsOf = (html: string) => [...html.matchAll(/\s(?:href|src)="([^"]+)"/g)].map(([, href = ""]) => href);

test("every link of every page leads to a page, a file or an operation, and every anchor to a heading", async () => {
  const broken: string[] = [];
  const elsewhere = new Set<string>();
  for (const [path, html] of pages) {
    for (const href of hrefsOf(html)) {
      if (/^(https?:|mailto:)/.test(href)) continue;
      const { pathname, hash } = new URL(href, `http://rebid${path}`);
      const target = pages.get(pathname);
      if (target === undefined) elsewhere.add(pathname);
      else if (hash !== "" && !target.includes(`id="${decodeURIComponent(hash.slice(1))}"`))
        broken.push(`${path}: ${href}`);
    }
  }
  for (const path of elsewhere) {
    const { status } = await rest(service.url, "HEAD", path);
    if (status !== 200) broken.push(`${path} is ${status}`);
  }
  expect(broken).toEqual([]);
});

test("every link between the Markdown versions leads to one, and every anchor to a heading", async () => {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".md"));
  expect(files).toHaveLength(pages.size);
  const broken: string[] = [];
  for (const file of files) {
    const markdown = (await readFile(join(folder, file), "utf8")).replace(/^```[\s\S]*?^```$/gm, "");
    for (const [, path = "", anchor] of markdown.matchAll(/\]\((\/docs\/[^)#]+)(?:#([^)]+))?\)/g)) {
      const page = pages.get(path.replace(/(\/index)?\.md$/, ""));
      if (!path.endsWith(".md") || page === undefined) broken.push(`${file}: ${path}`);
      else if (anchor !== undefined && !page.includes(`id="${anchor}"`)) broken.push(`${file}: ${path}#${anchor}`);
    }
    expect([file, /\]\((?!https?:|#|\/)/.exec(markdown)?.[0]]).toEqual([file, undefined]);
  }
  expect(broken).toEqual([]);
});

test("no page has a tag that is broken, or that is not closed", () => {
  const empty = /^(area|base|br|col|hr|img|input|link|meta|wbr|!doctype)$/;
  for (const [path, html] of pages) {
    const open: string[] = [];
    for (const [, slash, name = "", closed] of html.matchAll(/<(\/?)([!\w-]*)(?:"[^"]*"|[^">])*?(\/?)>/g)) {
      if (slash === "/") expect([path, open.pop()]).toEqual([path, name]);
      else if (closed !== "/" && !empty.test(name.toLowerCase()) && !name.startsWith("!--")) open.push(name);
    }
    expect([path, open]).toEqual([path, []]);
  }
});

test("no page has code of its own inside, or names another host", () => {
  for (const [path, html] of pages) {
    expect([path, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+="/.exec(html)?.[0]]).toEqual([path, undefined]);
    const hosts = [...html.matchAll(/<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?:)?\/\/[^"]+"/g)];
    expect([path, hosts.map(([tag]) => tag)]).toEqual([path, []]);
  }
});

test("pages have a policy that allows only our own files, are asked for again each time, and are 304 if they are the same", async () => {
  const page = await rest(service.url, "GET", "/docs/money");
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("cache-control")).toBe("no-cache");
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  const etag = page.headers.get("etag") ?? "";
  const again = await rest(service.url, "GET", "/docs/money", {
    headers: { "if-none-match": etag, "cache-control": "max-age=0" },
  });
  expect([again.status, again.text]).toEqual([304, ""]);
});

test("files whose names change with their content are kept for good, and are sent as they were compressed at the build", async () => {
  const script = hrefsOf(pages.get("/docs") ?? "").find((href) => /assets\/main.*\.js$/.test(href)) ?? "";
  const read = async (encoding: string) => {
    const response = await fetch(service.url + script, { headers: { "accept-encoding": encoding } });
    return { headers: response.headers, text: await response.text() };
  };
  const [plain, gzip, brotli] = [await read("identity"), await read("gzip"), await read("br, gzip")];
  expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect([plain, gzip, brotli].map(({ headers }) => headers.get("content-encoding"))).toEqual([null, "gzip", "br"]);
  expect(new Set([plain.text, gzip.text, brotli.text]).size).toBe(1);
  const file = join(folder, script.replace("/docs/", ""));
  expect(gunzipSync(await readFile(`${file}.gz`)).toString()).toBe(plain.text);
  expect(brotliDecompressSync(await readFile(`${file}.br`)).toString()).toBe(plain.text);
});

test("the home page, with all that it needs at once, is under 500 kB, and so is the largest guide", async () => {
  for (const path of ["/docs", "/docs/contract"]) {
    const html = pages.get(path) ?? "";
    const files = hrefsOf(html).filter((href) => href.startsWith("/docs/assets/"));
    const styles = await Promise.all(
      files.filter((href) => href.endsWith(".css")).map((href) => rest(service.url, "GET", href)),
    );
    const fonts = styles.flatMap(({ text }) =>
      [...text.matchAll(/url\(([^)]*latin-(?:wght|400)[^)]*\.woff2)\)/g)].map(([, url = ""]) => url),
    );
    let bytes = 0;
    for (const address of new Set([path, ...files, ...fonts])) {
      const response = await fetch(new URL(address, service.url), { headers: { "accept-encoding": "identity" } });
      bytes += (await response.arrayBuffer()).byteLength;
    }
    expect([path, bytes < 500_000, bytes]).toEqual([path, true, bytes]);
  }
});

test("a path without a page is an error like any other, and so is another method", async () => {
  for (const path of [
    "/docs/nothing",
    "/docs/manifest.json",
    "/docs/money/",
    "/docs/assets/",
    "/docs/../package.json",
  ]) {
    const answer = await rest(service.url, "GET", path);
    if (path === "/docs/money/") expect(answer.status).toBe(200);
    else expectError(answer, "not_found");
  }
  const posted = await rest(service.url, "POST", "/docs");
  expectError(posted, "method_not_allowed");
  expect(posted.headers.get("allow")).toBe("GET, HEAD");
});

test("without the built files, the site's paths are left to whatever comes next, and are there as soon as it is built", async () => {
  const empty = await mkdtemp(join(tmpdir(), "rebid-docs-"));
  const app = express()
    .use(serveSite(docsSite, { base: "/docs", atRoot: ["llms.txt"], folder: join(empty, "docs") }))
    .use((_request, response) => void response.status(404).end());
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = AddressInfo.parse(server.address());
  const statuses = () =>
    Promise.all(["/docs", "/llms.txt"].map(async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status));
  expect(await statuses()).toEqual([404, 404]);
  await cp(folder, join(empty, "docs"), { recursive: true });
  expect(await statuses()).toEqual([200, 200]);
  server.close();
  await rm(empty, { recursive: true });
});

test("the site is stale when a guide, the API document, a file that guides include or the brand changes", () => {
  expect(docsSite.inputs).toEqual(
    expect.arrayContaining(["docs", "openapi/openapi.json", "README.md", "CONTRIBUTING.md", "server/brand"]),
  );
});
