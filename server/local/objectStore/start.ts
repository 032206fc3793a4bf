import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../listen.ts";
import { errorXml, S3Error } from "./errors.ts";
import { type ObjectFiles, openObjectFiles } from "./files.ts";
import { checkNoListing, copyObject, deleteObject, getObject, listObjects, putObject } from "./operations.ts";
import { verifySignature } from "./signature.ts";
import { parseTarget } from "./target.ts";

interface ObjectStoreOptions {
  /** The directory of the objects. It is created if it does not exist, and only one store may use it at a time. */
  directory: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Pairs that still work while they are being replaced. They are read at each request, like the pair itself. */
  formerKeys?: ReadonlyMap<string, string>;
  /** The port on 127.0.0.1, if it is free. */
  preferredPort?: number | undefined;
  /** Returns the time in epoch milliseconds, which signatures are checked against. Defaults to the system clock. */
  now?: () => number;
}

const methods = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"];

// Other x-amz headers (ACLs, encryption, metadata) are refused, because ignoring them would change the request's meaning.
const knownAmzHeaders = new Set([
  "x-amz-checksum-algorithm",
  "x-amz-checksum-mode",
  "x-amz-content-sha256",
  "x-amz-copy-source",
  "x-amz-date",
  "x-amz-user-agent",
]);

/**
 * Starts a small, strict S3-compatible store: PutObject, CopyObject, GetObject, HeadObject, DeleteObject and ListObjectsV2
 * in one bucket, with path-style URLs. `npm start` uses it if no S3 is configured, so it refuses everything that S3 would
 * refuse. A stored object survives a crash. A PUT whose response is not 200 stores nothing.
 * @returns the endpoint's URL, and `stop`, which lets running requests complete for 5 seconds and then aborts them
 */
export async function startObjectStore(options: ObjectStoreOptions): Promise<{ url: string; stop(): Promise<void> }> {
  const files = await openObjectFiles(options.directory);
  const running = new Set<Promise<void>>();
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const handled = handle(request, response, files, options).finally(() => running.delete(handled));
    running.add(handled);
  };
  const server = createServer(listener);
  // Refuses a request with "Expect: 100-continue" before the client sends a gigabyte.
  server.on("checkContinue", listener);
  server.headersTimeout = 30_000;
  // A gigabyte over a slow connection takes a long time. A connection without any traffic is closed after a minute.
  server.requestTimeout = 60 * 60 * 1000;
  server.timeout = 60_000;
  const port = await listen(server, options.preferredPort);
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      const cutOff = setTimeout(() => server.closeAllConnections(), 5000);
      await closed;
      clearTimeout(cutOff);
      await Promise.all(running);
    },
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  files: ObjectFiles,
  options: ObjectStoreOptions,
): Promise<void> {
  const requestId = randomUUID();
  response.setHeader("x-amz-request-id", requestId);
  // The objects come from strangers. A browser must not guess their type or run anything in them.
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox");
  response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
  // Any web page may use a URL that it was given. The signature is the permission; cookies are not involved.
  response.setHeader("Access-Control-Allow-Origin", "*");
  response.setHeader("Access-Control-Expose-Headers", "ETag, Content-Range, Content-Disposition, x-amz-request-id");
  try {
    await route(request, response, files, options);
  } catch (error) {
    // The client has disconnected, or part of the response has been sent: it is too late to send an error.
    if (response.headersSent || request.socket.destroyed) {
      response.destroy();
      return;
    }
    if (!(error instanceof S3Error)) console.error("The embedded object store failed:", error);
    refuse(request, response, error instanceof S3Error ? error : new S3Error("InternalError"), requestId);
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, error: S3Error, requestId: string): void {
  // A client that waits for "100 Continue" may or may not send its body now, so the connection cannot be reused.
  if (request.headers.expect !== undefined) response.setHeader("Connection", "close");
  if (error.code === "MethodNotAllowed") response.setHeader("Allow", methods.join(", "));
  response.statusCode = error.status;
  response.setHeader("Content-Type", "application/xml");
  response.end(request.method === "HEAD" ? undefined : errorXml(error, requestId));
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  files: ObjectFiles,
  options: ObjectStoreOptions,
): Promise<void> {
  const method = request.method ?? "";
  if (method === "OPTIONS") return preflight(response);
  if (!methods.includes(method)) throw new S3Error("MethodNotAllowed");
  const headers = request.headersDistinct;
  if (method === "PUT" && (headers["transfer-encoding"] !== undefined || headers["content-length"] === undefined)) {
    throw new S3Error("MissingContentLength");
  }
  const target = parseTarget(request.url ?? "");
  const nowMs = options.now?.() ?? Date.now();
  const payloadHash = verifySignature({ method, target, headers }, options, nowMs);
  if (target.bucket !== options.bucket) throw new S3Error("NoSuchBucket");
  for (const name of Object.keys(headers)) {
    if (name.startsWith("x-amz-") && !knownAmzHeaders.has(name)) throw new S3Error("NotImplemented");
  }

  const exchange = { request, response, target, payloadHash, files, modifiedAt: new Date(nowMs).toISOString() };
  if (target.key === "") return listObjects(exchange);
  checkNoListing(target);
  if (method === "PUT") {
    await (headers["x-amz-copy-source"] === undefined ? putObject(exchange) : copyObject(exchange));
  } else if (method === "DELETE") {
    await deleteObject(exchange);
  } else {
    await getObject(exchange);
  }
}

function preflight(response: ServerResponse): void {
  response.setHeader("Access-Control-Allow-Methods", "GET, HEAD, PUT");
  response.setHeader("Access-Control-Allow-Headers", "*");
  response.setHeader("Access-Control-Max-Age", "3600");
  response.writeHead(200).end();
}
