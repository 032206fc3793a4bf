import express, { type Request, type Response } from "express";
import { ApiError } from "../errors.ts";

/** Source: docs/contract.md "Conventions". */
const MAX_BODY_BYTES = 256 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns a function that reads a whole body of at most `limitBytes`, decompressed if necessary. A larger body is read to
 * its end and discarded, so that the connection stays usable; then the function throws `payload_too_large`. It throws
 * `unsupported_media_type` for an unknown compression and `invalid_input` for a body that cannot be read.
 */
export function bodyReader(limitBytes: number) {
  const read = express.raw({ type: () => true, limit: limitBytes });
  return async (request: Request, response: Response): Promise<Buffer> => {
    const failure = await new Promise<unknown>((done) => read(request, response, done));
    if (failure !== undefined) throw bodyError(failure, limitBytes);
    return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  };
}

const readJsonBody = bodyReader(MAX_BODY_BYTES);

/**
 * Returns the text of a JSON body, not parsed yet, or null for an empty body. Both transports read their bodies here, so
 * both refuse the same: another media type or charset, a body that is too large, bytes that are not UTF-8.
 */
export async function readJsonText(request: Request, response: Response): Promise<string | null> {
  if (!hasBody(request)) return null;
  if (!isJson(request.headers["content-type"])) throw new ApiError("unsupported_media_type");
  const bytes = await readJsonBody(request, response);
  // A chunked body can turn out to be empty.
  if (bytes.length === 0) return null;
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalidBody("The body is not valid UTF-8.");
  }
}

/** Whether the headers announce a body. A chunked one can turn out to be empty. */
export function hasBody({ headers }: Request): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

export function invalidBody(message: string, path = ""): ApiError {
  return new ApiError("invalid_input", { issues: [{ path, message }] });
}

/** JSON is always UTF-8 (RFC 8259), so another charset is refused instead of misread. */
function isJson(contentType: string | undefined): boolean {
  const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  if (type.trim() !== "application/json") return false;
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset);
}

/** Translates the errors of Express' body parser by their `type`. */
function bodyError(failure: unknown, limitBytes: number): ApiError {
  const type = failure instanceof Error && "type" in failure ? failure.type : undefined;
  if (type === "entity.too.large") {
    return new ApiError("payload_too_large", { message: `The body must be at most ${limitBytes / 1024} KiB.` });
  }
  if (type === "encoding.unsupported") {
    return new ApiError("unsupported_media_type", { message: "Send the body uncompressed, or compressed with gzip." });
  }
  return invalidBody("The body could not be read: it is incomplete, or not compressed as its Content-Encoding says.");
}
