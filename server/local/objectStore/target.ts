import { S3Error } from "./errors.ts";

/** The parts of a request's path-style URL: a bucket, an object's key, and the parameters of the operation. */
export interface Target {
  /** The path in the request, which is also its canonical form. */
  path: string;
  bucket: string;
  /** Empty for the bucket itself. */
  key: string;
  query: ReadonlyMap<string, string>;
}

const MAX_KEY_BYTES = 1024;

// Other parameters select other operations ("?acl", "?uploads"), which must not be treated as a plain GET or PUT.
const knownParameters = new Set([
  "X-Amz-Algorithm",
  "X-Amz-Content-Sha256",
  "X-Amz-Credential",
  "X-Amz-Date",
  "X-Amz-Expires",
  "X-Amz-Signature",
  "X-Amz-SignedHeaders",
  "list-type",
  "max-keys",
  "prefix",
  "start-after",
  "x-amz-checksum-mode",
  "x-id",
  "response-content-disposition",
  "response-content-type",
]);

/**
 * Parses a request's URL. A key has exactly one encoding, RFC 3986's. Any other (an encoded slash, a plus, lower-case
 * hex digits) is refused, so that the signature, the key and the file always refer to the same object.
 * @throws S3Error InvalidURI, KeyTooLongError, InvalidArgument (repeated parameter), NotImplemented (unknown parameter)
 */
export function parseTarget(url: string): Target {
  const queryStart = url.indexOf("?");
  const path = queryStart < 0 ? url : url.slice(0, queryStart);
  const decodedPath = decode(path);
  if (!path.startsWith("/") || encodePath(decodedPath) !== path) throw new S3Error("InvalidURI");
  const [, bucket = "", ...segments] = decodedPath.split("/");
  const key = segments.join("/");
  if (key !== "") checkSegments(segments);
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) throw new S3Error("KeyTooLongError");
  return { path, bucket, key, query: parseQuery(queryStart < 0 ? "" : url.slice(queryStart + 1)) };
}

/** Parses `x-amz-copy-source`: `[/]bucket/key`, encoded like a path. */
export function parseCopySource(value: string): Target {
  return parseTarget(value.startsWith("/") ? value : `/${value}`);
}

/** Percent-encodes everything but letters, digits and `-._~`: RFC 3986's encoding as AWS defines it. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

function encodePath(path: string): string {
  return path.split("/").map(encode).join("/");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error("InvalidURI");
  }
}

/** Refuses names that S3 allows but nobody needs here, because each of them has caused a vulnerability somewhere. */
function checkSegments(segments: string[]): void {
  for (const segment of segments) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matching control characters is the purpose
    const unsafe = segment === "" || segment === "." || segment === ".." || /[\u0000-\u001f\u007f\\]/.test(segment);
    if (unsafe) throw new S3Error("InvalidURI");
  }
}

function parseQuery(text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (!knownParameters.has(name)) throw new S3Error("NotImplemented");
    if (query.has(name)) throw new S3Error("InvalidArgument", "A query parameter is given twice.");
    query.set(name, equals < 0 ? "" : decode(pair.slice(equals + 1)));
  }
  return query;
}
