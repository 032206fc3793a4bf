import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type RequestHandler, Router } from "express";
import type { AppRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { docsSite } from "../sites/sites.ts";
import { allowOnly } from "./sendError.ts";
import { serveSite } from "./site.ts";

/** `/openapi.json`, the OpenAPI document, and the documentation, which is built ahead: `/docs`, and files for agents. */
export function documentation(router: AppRouter, { settings, testClock }: Services): Router {
  const options = { embedded: testClock !== null };
  const document = async () => {
    const { openApiDocument } = await import("./openApi/document.ts");
    return Buffer.from(JSON.stringify(openApiDocument(router, settings.publicUrl, options)));
  };
  return Router()
    .get("/openapi.json", sendDocument(document))
    .all("/openapi.json", allowOnly("GET"))
    .use(serveSite(docsSite, { base: "/docs", atRoot: ["llms.txt", "llms-full.txt"] }));
}

/**
 * Makes the document at the first request and keeps it, also compressed: serialising it takes longer than most requests. It
 * may change with the next release, so clients ask each time; one that sends the ETag of an earlier response gets 304.
 */
function sendDocument(load: () => Promise<Buffer>): RequestHandler {
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
      .set({ "Cache-Control": "no-cache", ETag: etag })
      .set(takesGzip ? { "Content-Encoding": "gzip" } : {})
      .type("json")
      .send(takesGzip ? compressed : plain); // Express responds with 304 when the ETag matches
  };
}
