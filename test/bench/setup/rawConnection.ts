import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answer {
  status: string;
  /** As it was sent: with the sizes of the chunks, if there are chunks. */
  body: Buffer;
}

export interface Message {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** JSON has no line break of this form, so a body does not end like that. */
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** The bytes of a request. */
export function encode({ method, path, headers = {}, body = "" }: Message): Buffer {
  const lines = Object.entries({ Host: "127.0.0.1", "Content-Length": Buffer.byteLength(body), ...headers });
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
}

/**
 * An HTTP connection with one request under way at a time, over a bare socket: a full client would cost as much as the
 * handlers that are measured, on a machine where both share the cores.
 */
export class RawConnection {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  #received = 0;
  /** Bytes of the whole response; unknown until its head has arrived, and infinite for one in chunks. */
  #expected: number | null = null;
  #headBytes = 0;
  #answer = Promise.withResolvers<Answer>();

  constructor(port: number, timeoutMs = 10_000) {
    this.#answer.promise.catch(() => undefined); // Nobody waits for it before the first request.
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.setTimeout(timeoutMs, () => this.#socket.destroy(new Error("the server did not answer")));
    this.#socket.on("data", (chunk) => this.#read(chunk));
    this.#socket.on("error", (error) => this.#answer.reject(error));
    this.#socket.on("close", () => this.#answer.reject(new Error("the server closed the connection")));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  async opened(): Promise<void> {
    await once(this.#socket, "connect");
  }

  /** Sends a request and returns the response, once all of it has arrived. */
  ask(message: Buffer): Promise<Answer> {
    if (!this.isOpen) return Promise.reject(new Error("the server has closed the connection"));
    this.#chunks.length = 0;
    this.#received = 0;
    this.#expected = null;
    this.#answer = Promise.withResolvers();
    this.#socket.write(message);
    return this.#answer.promise;
  }

  close(): void {
    this.#answer.promise.catch(() => undefined);
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#expected === null) this.#readHead();
    if (this.#expected === null) return;
    const isLastChunk =
      this.#expected === Number.POSITIVE_INFINITY && chunk.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
    if (this.#received < this.#expected && !isLastChunk) return;
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    this.#answer.resolve({ status: all.toString("latin1", 9, 12), body: all.subarray(this.#headBytes) });
  }

  #readHead(): void {
    const received = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const headEnd = received?.indexOf("\r\n\r\n") ?? -1;
    if (received === undefined || headEnd < 0) return;
    const head = received.toString("latin1", 0, headEnd);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    this.#headBytes = headEnd + 4;
    const isChunked = /\r\ntransfer-encoding: chunked/i.test(head);
    this.#expected = isChunked ? Number.POSITIVE_INFINITY : this.#headBytes + Number(length ?? 0);
  }
}
