import { S3Error } from "./errors.ts";

/** What a request's URL names: an object in a bucket, path style, and the parameters of the operation. */
export interface Target {
  /** The path as it stands in the request, which is also its canonical form. */
  path: string;
  bucket: string;
  key: string;
  query: ReadonlyMap<string, string>;
}

const maxKeyBytes = 1024;

// Any other parameter asks for another operation ("?acl", "?uploads"), which must not be taken for a plain GET or PUT.
const knownParameters = new Set([
  "X-Amz-Algorithm",
  "X-Amz-Content-Sha256",
  "X-Amz-Credential",
  "X-Amz-Date",
  "X-Amz-Expires",
  "X-Amz-Signature",
  "X-Amz-SignedHeaders",
  "x-amz-checksum-mode",
  "x-id",
  "response-content-disposition",
  "response-content-type",
]);

/**
 * Reads a request's target. A key has exactly one spelling: whatever is encoded in another way than RFC 3986's (an encoded
 * slash, a plus, lower-case hex digits) is refused, so the signature, the key and the file can never speak of three things.
 * @throws S3Error InvalidURI, KeyTooLongError, InvalidArgument (a parameter twice), NotImplemented (an unknown parameter)
 */
export function parseTarget(url: string): Target {
  const queryStart = url.indexOf("?");
  const path = queryStart < 0 ? url : url.slice(0, queryStart);
  const decodedPath = decode(path);
  if (!path.startsWith("/") || encodePath(decodedPath) !== path) throw new S3Error("InvalidURI");
  const [, bucket = "", ...segments] = decodedPath.split("/");
  checkSegments(segments);
  const key = segments.join("/");
  if (Buffer.byteLength(key) > maxKeyBytes) throw new S3Error("KeyTooLongError");
  return { path, bucket, key, query: parseQuery(queryStart < 0 ? "" : url.slice(queryStart + 1)) };
}

/** Reads `x-amz-copy-source`: `[/]bucket/key`, encoded like a path. */
export function parseCopySource(value: string): Target {
  return parseTarget(value.startsWith("/") ? value : `/${value}`);
}

/** RFC 3986's encoding as AWS defines it: everything but letters, digits and `-._~`. */
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

/** S3 itself allows such names. Nobody here needs them, and each has opened a hole somewhere. */
function checkSegments(segments: string[]): void {
  for (const segment of segments) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
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
    if (query.has(name)) throw new S3Error("InvalidArgument", "A query parameter stands twice.");
    query.set(name, equals < 0 ? "" : decode(pair.slice(equals + 1)));
  }
  return query;
}
