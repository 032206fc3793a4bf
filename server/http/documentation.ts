import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type RequestHandler, Router } from "express";
import type { AppRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { openApiDocument } from "./openApi/document.ts";
import { servePage } from "./page.ts";
import { allowOnly } from "./sendError.ts";
import { viewerSettings, viewerStyle } from "./viewer.ts";

const { resolve } = createRequire(import.meta.url);

/** Swagger UI's own files, which come with the package. */
const viewerFiles = [
  { path: "/docs/viewer.js", type: "js", file: resolve("swagger-ui-dist/swagger-ui-bundle.js") },
  { path: "/docs/viewer.css", type: "css", file: resolve("swagger-ui-dist/swagger-ui.css") },
] as const;

/** The documentation's own files keep for a day. The document may change with the next release: clients ask each time. */
const cacheForADay = "public, max-age=86400";
const revalidate = "no-cache";

/** `/openapi.json`, the OpenAPI document, and `/docs`, a page to read it and try out its operations. */
export function documentation(router: AppRouter, { settings, testClock }: Services): Router {
  const options = { embedded: testClock !== null };
  const document = async () => Buffer.from(JSON.stringify(openApiDocument(router, settings.publicUrl, options)));
  const routes = Router()
    .get("/openapi.json", sendBytes(document, "json", revalidate))
    .get("/docs/settings.js", (_request, response) => {
      response.type("js").send(viewerSettings);
    })
    .all(["/openapi.json", "/docs/settings.js"], allowOnly("GET"))
    .use(
      servePage("/docs", {
        title: "API reference",
        layout: "wide",
        style: viewerStyle,
        stylesheets: ["/docs/viewer.css"],
        scripts: ["/docs/viewer.js", "/docs/settings.js"],
        body: `<p class="quiet"><a href="/">Rebid</a> · <a href="/docs/webhooks">Webhooks</a> · <a href="/openapi.json">openapi.json</a></p>
<h1>API reference</h1>
<div id="viewer"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>`,
      }),
    );
  for (const { path, type, file } of viewerFiles)
    routes
      .get(
        path,
        sendBytes(() => readFile(file), type, cacheForADay),
      )
      .all(path, allowOnly("GET"));
  return routes;
}

/**
 * Loads the bytes at the first request and keeps them, also compressed: the viewer is 1.7 MB, or 0.5 MB with gzip, and
 * serialising the document takes longer than most requests. A client that sends the ETag of an earlier response gets 304.
 */
function sendBytes(load: () => Promise<Buffer>, type: "js" | "css" | "json", cacheControl: string): RequestHandler {
  const prepare = async () => {
    const plain = await load();
    const etag = `W/"${createHash("sha256").update(plain).digest("base64url")}"`; // weak: it names both forms
    return { plain, compressed: await promisify(gzip)(plain), etag };
  };
  let prepared: ReturnType<typeof prepare> | undefined;
  return async (request, response) => {
    prepared ??= prepare();
    const { plain, compressed, etag } = await prepared;
    const takesGzip = request.acceptsEncodings("gzip") !== false;
    response
      .vary("Accept-Encoding")
      .set({ "Cache-Control": cacheControl, ETag: etag })
      .set(takesGzip ? { "Content-Encoding": "gzip" } : {})
      .type(type)
      .send(takesGzip ? compressed : plain); // Express responds with 304 when the ETag matches
  };
}
