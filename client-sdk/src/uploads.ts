import { RebidUploadError } from "./errors.ts";
import { chunksOf } from "./eventStream.ts";
import type { UploadTarget } from "./generated/types.ts";
import type { ChangeOptions } from "./options.ts";
import type { Transport } from "./transport.ts";

/** The bytes of a file, in order. */
export type FileStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A file that is read while it is sent. Its size has to be known before. */
export interface StreamedFile {
  bytes: number;
  /** The stream, or a function that begins anew each time: then the upload can be repeated when the connection breaks. */
  stream: FileStream | (() => FileStream);
  name?: string | undefined;
  /** A MIME type. */
  type?: string | undefined;
}

/** What can be uploaded. `Buffer` is a `Uint8Array`, and a browser's `File` a `Blob`. Paths: `fileFrom` of `@rebid/sdk/node`. */
export type UploadFile = Blob | Uint8Array | StreamedFile;

export interface UploadProgress {
  sentBytes: number;
  totalBytes: number;
}

export interface UploadOptions extends ChangeOptions {
  /** By default the file's own type, or `application/octet-stream`. */
  mimeType?: string | undefined;
  /** The name that downloads have; by default the file's own. */
  fileName?: string | undefined;
  /**
   * Called as the file is sent. Browsers do not tell how much of a request they have sent, so there it is called at the start
   * and at the end. A repeated upload starts at 0 again.
   */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** What every kind of file has. */
interface Source {
  bytes: number;
  type: string | undefined;
  name: string | undefined;
  /** Starts to read the file. */
  open(): FileStream;
  canRepeat: boolean;
}

/** What is declared about a file before it is uploaded. */
export function declarationOf(
  file: UploadFile,
  { mimeType, fileName }: UploadOptions,
): { mimeType: string; bytes: number; fileName: string | undefined } {
  const { bytes, type, name } = sourceOf(file);
  return { mimeType: mimeType || type || "application/octet-stream", bytes, fileName: fileName ?? (name || undefined) };
}

/** A call that uploads is several requests, each with a key of its own. */
export function optionsOfStep(options: UploadOptions, step: "init" | "finalize"): ChangeOptions {
  const { idempotencyKey, signal, timeoutMs, maxRetries, headers } = options;
  const key = idempotencyKey === undefined ? undefined : `${idempotencyKey}:${step}`;
  return { idempotencyKey: key, signal, timeoutMs, maxRetries, headers };
}

/** An upload may take long; whoever wants to end it earlier has `signal`. Source: docs/contract.md "Uploads". */
const UPLOAD_TIMEOUT_MS = 3_600_000;

/** Sends the bytes to the object store. Only a part of the file is in memory at a time. */
export async function putFile(
  transport: Transport,
  { uploadUrl }: UploadTarget,
  file: UploadFile,
  mimeType: string,
  { signal, maxRetries, onProgress }: UploadOptions,
): Promise<void> {
  const source = sourceOf(file);
  const options = { signal, maxRetries: source.canRepeat ? maxRetries : 0, timeoutMs: UPLOAD_TIMEOUT_MS };
  const report = (sentBytes: number) => onProgress?.({ sentBytes, totalBytes: source.bytes });
  await transport.withRetries("PUT the file", options, "keyed", async () => {
    report(0);
    // A browser reads a stream to its end before it sends anything.
    const count = new ByteCount(source, isNode() ? report : () => {});
    const init = await requestOf(file, mimeType, source, count);
    const sent = transport.attempt(uploadUrl, init, options, async (response) => {
      const text = await response.text();
      if (!response.ok) throw new RebidUploadError(response.status, text);
    });
    await sent.catch((error: unknown) => {
      throw count.failure === undefined ? error : count.failure.reason;
    });
  });
  if (!isNode()) report(source.bytes);
}

/** Counts the bytes of a file as they are read, and ends a stream that has more or fewer than it should. */
class ByteCount {
  /** Set if the file could not be read, or `onProgress` threw: no connection is to blame, and no repeat would help. */
  failure: { reason: unknown } | undefined;
  readonly #source: Source;
  readonly #report: (sentBytes: number) => void;

  constructor(source: Source, report: (sentBytes: number) => void) {
    this.#source = source;
    this.#report = report;
  }

  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* this.#read();
    } catch (reason) {
      this.failure = { reason };
      throw reason;
    }
  }

  async *#read(): AsyncGenerator<Uint8Array, void, undefined> {
    const { bytes, open } = this.#source;
    const stream = open();
    let count = 0;
    for await (const chunk of stream instanceof ReadableStream ? chunksOf(stream) : stream) {
      count += chunk.byteLength;
      if (count > bytes) throw this.#mismatchOf(`more than ${bytes} bytes`);
      yield chunk;
      this.#report(count);
    }
    if (count < bytes) throw this.#mismatchOf(`${count} bytes`);
  }

  #mismatchOf(found: string): TypeError {
    return new TypeError(`The stream has ${found}, but \`bytes\` is ${this.#source.bytes}.`);
  }
}

function sourceOf(file: UploadFile): Source {
  if (file instanceof Uint8Array) {
    return { bytes: file.byteLength, type: undefined, name: undefined, open: () => slicesOf(file), canRepeat: true };
  }
  if (file instanceof Blob) {
    const name = "name" in file && typeof file.name === "string" ? file.name : undefined; // a `File`
    return { bytes: file.size, type: file.type, name, open: () => file.stream(), canRepeat: true };
  }
  const { bytes, type, name, stream } = file;
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new TypeError("`bytes` must be the file's size.");
  const canRepeat = typeof stream === "function";
  return { bytes, type, name, open: canRepeat ? stream : () => stream, canRepeat };
}

const SLICE_BYTES = 65_536;

async function* slicesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += SLICE_BYTES) yield bytes.subarray(start, start + SLICE_BYTES);
}

/**
 * The address is signed: neither the key nor the cookie belongs there. The store needs to know the length. Node's `fetch`
 * sends a stream with a length that it is told; browsers send it without one, so there a stream becomes a `Blob`, which the
 * browser can keep on disk.
 */
async function requestOf(file: UploadFile, mimeType: string, source: Source, count: ByteCount): Promise<RequestInit> {
  const headers = { "Content-Type": mimeType };
  if (isNode()) {
    const init: RequestInit & { duplex: "half" } = {
      method: "PUT",
      headers: { ...headers, "Content-Length": String(source.bytes) },
      body: streamOf(count.read()),
      duplex: "half",
    };
    return init;
  }
  const body = file instanceof Blob ? file : await new Response(streamOf(count.read())).blob();
  // With a type of its own, a browser would send that.
  return { method: "PUT", headers, body: body.slice(0, body.size, mimeType), credentials: "omit" };
}

function streamOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => {
      await chunks.return();
    },
  });
}

/** True in Node.js and in what is like it. */
function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } }; // which other platforms do not have
  return process?.versions?.node !== undefined;
}
