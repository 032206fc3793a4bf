import { connect, type Socket } from "node:net";

/** A response as it came over the socket. */
export interface WireResponse {
  status: number;
  /** Lower-case names; repeated headers are joined with a comma. */
  headers: ReadonlyMap<string, string>;
  body: Buffer;
  /** True when the server says that it closes the connection after this response. */
  closes: boolean;
}

/** What came is not HTTP as RFC 9112 describes it. */
export class BadHttp extends Error {}

/** No response is longer than this; more is cut off and reported. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * Takes the first complete response from `received`, or returns null if more must come. `ended` means that the server has
 * closed, which ends a body without a length. @throws BadHttp
 */
export function takeResponse(
  received: Buffer,
  { isHead = false, ended = false } = {},
): { response: WireResponse; length: number } | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) {
    if (received.length > 0 && !"HTTP/1.".startsWith(received.toString("latin1", 0, 7))) {
      throw new BadHttp(`not a status line: ${received.toString("latin1", 0, 80)}`);
    }
    if (ended && received.length > 0) throw new BadHttp("the response ends inside its headers");
    return null;
  }
  const [statusLine = "", ...lines] = received.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\t\x20-\x7e]*$/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new BadHttp(`not a status line: ${statusLine.slice(0, 80)}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~\w-]+):[\t ]*([\t\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === "") throw new BadHttp(`not a header: ${line.slice(0, 80)}`);
    const key = name.toLowerCase();
    headers.set(key, headers.has(key) ? `${headers.get(key)}, ${value}` : value);
  }
  const start = headEnd + 4;
  const closes = headers.get("connection") === "close";
  // A stream has no end.
  if (isStream(headers)) {
    return { response: { status, headers, body: Buffer.alloc(0), closes: true }, length: received.length };
  }
  const result = (body: Buffer, end: number) => ({ response: { status, headers, body, closes }, length: end });
  if (isHead || status < 200 || status === 204 || status === 304) return result(Buffer.alloc(0), start);
  if (headers.get("transfer-encoding") === "chunked") {
    const chunked = takeChunks(received, start);
    if (chunked === null && ended) throw new BadHttp("the response ends inside a chunk");
    return chunked && result(chunked.body, chunked.end);
  }
  const length = headers.get("content-length");
  if (length === undefined) {
    if (!closes) throw new BadHttp("the response has no length, and the connection stays open");
    return ended ? result(received.subarray(start), received.length) : null;
  }
  if (!/^\d+$/.test(length)) throw new BadHttp(`not a length: ${length}`);
  const end = start + Number(length);
  if (received.length < end && ended) throw new BadHttp("the response is shorter than its Content-Length");
  return received.length < end ? null : result(received.subarray(start, end), end);
}

/** Whether the response is a stream of server-sent events, of which only the beginning is read. */
export function isStream(headers: ReadonlyMap<string, string>): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

function takeChunks(received: Buffer, start: number): { body: Buffer; end: number } | null {
  const chunks: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = received.indexOf("\r\n", at);
    if (lineEnd < 0) return null;
    const text = received.toString("latin1", at, lineEnd);
    if (!/^[\da-f]+$/i.test(text)) throw new BadHttp(`not the size of a chunk: ${text.slice(0, 80)}`);
    const size = Number.parseInt(text, 16);
    const end = lineEnd + 2 + size;
    if (received.length < end + 2) return null;
    if (size > 0) chunks.push(received.subarray(lineEnd + 2, end));
    if (received.toString("latin1", end, end + 2) !== "\r\n") throw new BadHttp("a chunk without its end");
    if (size === 0) return { body: Buffer.concat(chunks), end: end + 2 };
    at = end + 2;
  }
}

/** What became of a request: its response, or how the connection ended without one. */
export type Outcome =
  | { kind: "answered"; response: WireResponse }
  | { kind: "closed" }
  | { kind: "silent" }
  | { kind: "broken"; why: string };

/** One connection that sends request after request, and opens a new one when the server has closed it. */
export class Lane {
  readonly #port: number;
  readonly #timeoutMs: number;
  #socket: Socket | null = null;

  constructor(port: number, timeoutMs = 30_000) {
    this.#port = port;
    this.#timeoutMs = timeoutMs;
  }

  /** Sends a request and waits for its response. A kept-open connection may close just then: that is tried once more. */
  async send(bytes: Buffer, isHead: boolean): Promise<Outcome> {
    const wasOpen = this.#socket !== null;
    const outcome = await this.#exchange(bytes, isHead);
    return outcome.kind === "closed" && wasOpen ? this.#exchange(bytes, isHead) : outcome;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #exchange(bytes: Buffer, isHead: boolean): Promise<Outcome> {
    const socket = this.#socket ?? connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    this.#socket = socket;
    let chunks: Buffer[] = [];
    let size = 0;
    return new Promise<Outcome>((resolve) => {
      const finish = (outcome: Outcome, keep: boolean) => {
        clearTimeout(timeout);
        socket.removeAllListeners().on("error", () => {});
        if (keep) socket.once("close", () => this.#forget(socket));
        else this.close();
        resolve(outcome);
      };
      const timeout = setTimeout(() => finish({ kind: "silent" }, false), this.#timeoutMs);
      const read = (ended: boolean) => {
        try {
          for (;;) {
            const taken = takeResponse(joined(), { isHead, ended });
            if (taken === null) break;
            const { response, length } = taken;
            const rest = joined().subarray(length);
            if (response.status < 200) {
              chunks = [rest];
              continue;
            }
            if (rest.length > 0) return finish({ kind: "broken", why: "more came than one response" }, false);
            return finish({ kind: "answered", response }, !response.closes && !ended);
          }
          if (ended) finish({ kind: "closed" }, false);
          else if (size > MAX_RESPONSE_BYTES) finish({ kind: "broken", why: "the response has no end" }, false);
        } catch (error) {
          finish({ kind: "broken", why: error instanceof Error ? error.message : String(error) }, false);
        }
      };
      const joined = () => {
        if (chunks.length !== 1) chunks = [Buffer.concat(chunks)];
        return chunks[0] ?? Buffer.alloc(0);
      };
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        read(false);
      });
      // After a refused upload the server may reset the connection, but what it answered counts.
      socket.on("error", () => read(true));
      socket.on("close", () => read(true));
      socket.write(bytes);
    });
  }

  #forget(socket: Socket): void {
    if (this.#socket === socket) this.#socket = null;
  }
}

/** Writes bytes to a connection of their own, and returns everything that comes until the server closes it, or time is up. */
export function sendRaw(
  port: number,
  parts: readonly Buffer[],
  { end, timeoutMs }: { end: boolean; timeoutMs: number },
): Promise<{ received: Buffer; closed: boolean }> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    let done = false;
    const finish = (closed: boolean) => {
      if (done) return;
      done = true;
      clearTimeout(timeout);
      socket.destroy();
      resolve({ received: Buffer.concat(chunks), closed });
    };
    const timeout = setTimeout(() => finish(false), timeoutMs);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => finish(true));
    socket.on("error", () => finish(true));
    socket.on("close", () => finish(true));
    const write = (index: number): void => {
      const part = parts[index];
      if (done) return;
      if (part === undefined) {
        if (end) socket.end();
        return;
      }
      // A packet of its own for each part.
      socket.write(part, () => setImmediate(() => write(index + 1)));
    };
    write(0);
  });
}
