import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { escapeXml, S3Error } from "./errors.ts";
import type { ObjectFiles, ObjectInfo } from "./files.ts";
import { UNSIGNED_PAYLOAD } from "./signature.ts";
import { parseCopySource, type Target } from "./target.ts";

/** A request with a valid signature for our bucket. Each operation responds to it or throws an S3Error. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  /** The signed SHA-256 of the body in hexadecimal, or UNSIGNED-PAYLOAD. */
  payloadHash: string;
  files: ObjectFiles;
  /** The modification time of an object stored by this request. ISO 8601, UTC. */
  modifiedAt: string;
}

/** S3's own limit for one PUT: 5 GiB. */
const MAX_OBJECT_BYTES = 5 * 1024 ** 3;
const EMPTY_SHA256 = createHash("sha256").digest("hex");

/** PutObject. If the response is 200, the object is complete and on disk. Otherwise nothing is stored. */
export async function putObject({
  request,
  response,
  target,
  payloadHash,
  files,
  modifiedAt,
}: Exchange): Promise<void> {
  const bytes = Number(request.headers["content-length"]);
  if (bytes > MAX_OBJECT_BYTES) throw new S3Error("EntityTooLarge");
  if (request.headers["content-encoding"] !== undefined) throw new S3Error("NotImplemented");
  const onlyIfAbsent = writeCondition(request);
  // This is checked again when the object is published. Checking it here saves sending the bytes.
  if (onlyIfAbsent) await refuseIfPresent(target.key, files);
  if (request.headers.expect !== undefined) response.writeContinue();
  const contentMd5 = request.headers["content-md5"];
  const info = await files.write(target.key, request, {
    mimeType: request.headers["content-type"] ?? "binary/octet-stream",
    bytes,
    onlyIfAbsent,
    modifiedAt,
    check: ({ md5, sha256 }) => {
      if (payloadHash !== UNSIGNED_PAYLOAD && payloadHash !== sha256) throw new S3Error("XAmzContentSHA256Mismatch");
      if (contentMd5 !== undefined && contentMd5 !== hexToBase64(md5)) throw new S3Error("BadDigest");
    },
  });
  response.writeHead(200, { ETag: etag(info), "Content-Length": 0 }).end();
}

/** CopyObject, within the bucket. */
export async function copyObject(exchange: Exchange): Promise<void> {
  const { request, response, target, files } = exchange;
  checkNoBody(exchange);
  const source = parseCopySource(request.headersDistinct["x-amz-copy-source"]?.join() ?? "");
  if (source.bucket !== target.bucket) throw new S3Error("NoSuchBucket");
  if (source.key === target.key) throw new S3Error("InvalidRequest", "An object cannot be copied onto itself.");
  await files.copy(source.key, target.key, { onlyIfAbsent: writeCondition(request) });
  const object = await files.open(target.key);
  if (object === null) throw new S3Error("NoSuchKey");
  await object.close();
  response.setHeader("Content-Type", "application/xml");
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?>\n<CopyObjectResult><LastModified>${object.info.modifiedAt}</LastModified>` +
      `<ETag>${etag(object.info)}</ETag><ChecksumSHA256>${hexToBase64(object.info.sha256)}</ChecksumSHA256>` +
      "<ChecksumType>FULL_OBJECT</ChecksumType></CopyObjectResult>",
  );
}

/** DeleteObject. As in S3, deleting an object that does not exist succeeds. */
export async function deleteObject(exchange: Exchange): Promise<void> {
  checkNoBody(exchange);
  await exchange.files.delete(exchange.target.key);
  exchange.response.writeHead(204).end();
}

/** GetObject and HeadObject. */
export async function getObject(exchange: Exchange): Promise<void> {
  const { request, response, target, files } = exchange;
  checkNoBody(exchange);
  const object = await files.open(target.key);
  if (object === null) throw new S3Error("NoSuchKey");
  let streaming = false;
  try {
    const { info } = object;
    const { headers } = request;
    if (headers["if-match"] !== undefined && !matches(headers["if-match"], info)) {
      throw new S3Error("PreconditionFailed");
    }
    response.setHeader("ETag", etag(info));
    response.setHeader("Last-Modified", new Date(info.modifiedAt).toUTCString());
    if (headers["if-none-match"] !== undefined && matches(headers["if-none-match"], info)) {
      response.writeHead(304).end();
      return;
    }
    const range = chooseRange(request, response, info);
    setContentHeaders(response, target, info);
    if (headers["x-amz-checksum-mode"] !== undefined) {
      response.setHeader("x-amz-checksum-sha256", hexToBase64(info.sha256));
      response.setHeader("x-amz-checksum-type", "FULL_OBJECT");
    }
    response.setHeader("Content-Length", range.end - range.start + 1);
    if (request.method === "HEAD" || info.bytes === 0) {
      response.end();
      return;
    }
    streaming = true;
    await pipeline(object.read(range.start, range.end), response);
  } finally {
    if (!streaming) await object.close();
  }
}

/** As in S3, which does not allow more. */
const MAX_LISTED = 1000;

/** ListObjectsV2, whose next page is the one that starts after the last key. */
export async function listObjects(exchange: Exchange): Promise<void> {
  checkNoBody(exchange);
  const { request, response, target, files } = exchange;
  const { query } = target;
  if (request.method !== "GET" || query.get("list-type") !== "2") throw new S3Error("NotImplemented");
  const limit = query.get("max-keys") ?? String(MAX_LISTED);
  if (!/^\d{1,9}$/.test(limit)) throw new S3Error("InvalidArgument");
  const maxKeys = Math.min(Number(limit), MAX_LISTED);
  const { objects, isLast } = await files.list(query.get("prefix") ?? "", query.get("start-after") ?? "", maxKeys);
  const contents = objects.map(
    ({ key, info }) =>
      `<Contents><Key>${escapeXml(key)}</Key><LastModified>${info.modifiedAt}</LastModified><ETag>${etag(info)}</ETag>` +
      `<Size>${info.bytes}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
  );
  response.setHeader("Content-Type", "application/xml");
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult><Name>${target.bucket}</Name>` +
      `<KeyCount>${objects.length}</KeyCount><MaxKeys>${maxKeys}</MaxKeys><IsTruncated>${!isLast}</IsTruncated>` +
      `${contents.join("")}</ListBucketResult>`,
  );
}

/** Refuses a listing's parameters on an object, where they mean nothing. */
export function checkNoListing({ query }: Target): void {
  if (["list-type", "max-keys", "prefix", "start-after"].some((name) => query.has(name))) {
    throw new S3Error("NotImplemented");
  }
}

/** Chooses the bytes to serve. As in S3, several ranges or a malformed one mean the whole object. */
function chooseRange(request: IncomingMessage, response: ServerResponse, info: ObjectInfo) {
  response.setHeader("Accept-Ranges", "bytes");
  const whole = { start: 0, end: info.bytes - 1 };
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  const changed = request.headers["if-range"] !== undefined && request.headers["if-range"] !== etag(info);
  const backwards = first !== "" && last !== "" && Number(last) < Number(first);
  if (changed || backwards || (first === "" && last === "")) return whole;
  const start = first === "" ? Math.max(0, info.bytes - Number(last)) : Number(first);
  const end = first === "" || last === "" ? whole.end : Math.min(Number(last), whole.end);
  if (start > end) {
    response.setHeader("Content-Range", `bytes */${info.bytes}`);
    throw new S3Error("InvalidRange");
  }
  response.statusCode = 206;
  response.setHeader("Content-Range", `bytes ${start}-${end}/${info.bytes}`);
  return { start, end };
}

function setContentHeaders(response: ServerResponse, target: Target, info: ObjectInfo): void {
  const disposition = target.query.get("response-content-disposition");
  try {
    response.setHeader("Content-Type", target.query.get("response-content-type") ?? info.mimeType);
    if (disposition !== undefined) response.setHeader("Content-Disposition", disposition);
  } catch {
    throw new S3Error("InvalidArgument", "A response header cannot contain these characters.");
  }
}

function checkNoBody({ request, payloadHash }: Exchange): void {
  const { "content-length": length, "transfer-encoding": transferEncoding } = request.headers;
  if (transferEncoding !== undefined || (length !== undefined && length !== "0")) {
    throw new S3Error("InvalidRequest", "This operation does not accept a body.");
  }
  if (payloadHash !== UNSIGNED_PAYLOAD && payloadHash !== EMPTY_SHA256) throw new S3Error("XAmzContentSHA256Mismatch");
}

/** Returns whether the key must not exist yet (`If-None-Match: *`, the only value that S3 accepts for writes). */
function writeCondition(request: IncomingMessage): boolean {
  const condition = request.headers["if-none-match"];
  if (request.headers["if-match"] !== undefined) throw new S3Error("NotImplemented");
  if (condition !== undefined && condition !== "*") throw new S3Error("NotImplemented");
  return condition === "*";
}

async function refuseIfPresent(key: string, files: ObjectFiles): Promise<void> {
  const object = await files.open(key);
  await object?.close();
  if (object !== null) throw new S3Error("PreconditionFailed");
}

function matches(condition: string, info: ObjectInfo): boolean {
  return condition === "*" || condition.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag(info));
}

function etag(info: ObjectInfo): string {
  return `"${info.md5}"`;
}

function hexToBase64(text: string): string {
  return Buffer.from(text, "hex").toString("base64");
}
