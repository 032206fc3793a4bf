import express, { type Request, type Response } from "express";
import { ApiError } from "../errors.ts";
import { findExceededBound } from "../schemas/inputBounds.ts";
import { findJsonError } from "../schemas/jsonSyntax.ts";

/** Source: docs/contract.md "Conventions". */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * A compressed body may inflate to this size whatever its own size is, and beyond it to this multiple of its own size. The
 * texts of a task at their maximum have 125 kB; what may be larger, such as a file that is tried before posting, has to be
 * sent uncompressed only if it compresses better than that. Source: docs/contract.md "Conventions".
 */
const INFLATED_FREELY_BYTES = 128 * 1024;
const MAX_INFLATION = 100;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns a function that reads a whole body of at most `limitBytes`, decompressed if necessary. A larger body is read to
 * its end and discarded, so that the connection stays usable; then the function throws `payload_too_large`. It throws
 * `unsupported_media_type` for an unknown compression and `invalid_input` for a body that cannot be read. Decompression
 * stops at the limit.
 */
export function bodyReader(limitBytes: number) {
  const read = express.raw({ type: () => true, limit: limitBytes });
  return async (request: Request, response: Response): Promise<Buffer> => {
    const sent = request.headers["content-encoding"] === undefined ? null : countBytes(request);
    const failure = await new Promise<unknown>((done) => read(request, response, done));
    if (failure !== undefined) throw bodyError(failure, limitBytes);
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    if (sent !== null && body.length > Math.max(INFLATED_FREELY_BYTES, sent.bytes * MAX_INFLATION)) {
      throw new ApiError("payload_too_large", {
        message: `The body inflates to more than ${MAX_INFLATION} times its size. Send it uncompressed.`,
      });
    }
    return body;
  };
}

/** Counts the bytes of a body as they arrive, still compressed. */
function countBytes(request: Request): { bytes: number } {
  const count = { bytes: 0 };
  request.on("data", (chunk: Buffer) => {
    count.bytes += chunk.length;
  });
  return count;
}

const readJsonBody = bodyReader(MAX_BODY_BYTES);

/**
 * Returns the text of a JSON body, not parsed yet, or null for an empty body. Every transport reads its bodies here, so
 * all refuse the same: another media type or charset, a body that is too large, bytes that are not UTF-8.
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

/**
 * Parses a JSON text: one input, or an object of `batchSize` inputs. Throws `invalid_input` for a text that exceeds a bound or
 * is not valid JSON; `subject` begins the message, as in "The body".
 *
 * The bounds are checked before: a body of 256 KiB that exceeds one takes 0.2 ms, and 20 ms if it is parsed and walked
 * (measured), in which nobody else is answered; and 5,000 fields of one name are one value once they are parsed. trpc.ts checks
 * the parsed input too, for what only parsed values show, such as an escaped NUL, and for calls that never were text.
 */
export function parseJson(text: string, subject: string, batchSize?: number): unknown {
  const exceeded = findExceededBound(text, batchSize);
  if (exceeded !== null) throw invalidBody(exceeded);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidBody(`${subject} is not valid JSON at ${findJsonError(text)}.`);
  }
}

export function invalidBody(message: string): ApiError {
  return new ApiError("invalid_input", { issues: [{ path: "", message }] });
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
