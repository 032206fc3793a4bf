import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Requests of different kinds, sent in turn. Either `rate` or `connections` says how fast. */
export interface MixedLoad {
  port: number;
  requests: { method: "GET" | "POST"; path: string; headers: Record<string, string>; body?: string }[];
  seconds: number;
  /** Requests a second, sent whether or not earlier ones have been answered. */
  rate?: number;
  /** Requests under way at any time: the next is sent when one is answered. */
  connections?: number;
}

export interface MixedLoadResult {
  sent: number;
  /** Requests without a response. */
  lost: number;
  /** The number of responses with each status. */
  statuses: Record<string, number>;
  /** Successful responses a second. */
  successesPerSecond: number;
  /** Of the successful ones, from the moment at which the request was due. */
  medianMs: number;
  p99Ms: number;
}

/** More than the service accepts, so that the client does not limit what it gets to see. */
const MAX_CONNECTIONS = 1_000;
/** A request without a response for this long is lost. */
const TIMEOUT_MS = 60_000;

/** A load generator in its own process, over bare sockets: an HTTP client would cost as much as the service. */
async function run({ port, requests, seconds, rate, connections }: MixedLoad): Promise<MixedLoadResult> {
  const messages = requests.map((request) => messageOf(request, port));
  const idle: RawConnection[] = [];
  let open = 0;
  const waiting: ((connection: RawConnection) => void)[] = [];
  const durations: number[] = [];
  const statuses: Record<string, number> = {};
  let sent = 0;
  let lost = 0;
  const take = async (): Promise<RawConnection> => {
    // In turns, so that none is idle for so long that the service closes it.
    for (let free = idle.shift(); free !== undefined; free = idle.shift()) {
      if (free.isOpen) return free;
      open--; // Closed while it was idle.
    }
    if (open >= MAX_CONNECTIONS) return new Promise((resolve) => waiting.push(resolve));
    open++;
    return new RawConnection(port);
  };
  const send = async (dueMs: number) => {
    const message = messages[sent++ % messages.length] ?? Buffer.alloc(0);
    const connection = await take();
    try {
      const status = await connection.ask(message);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status.startsWith("2")) durations.push(performance.now() - dueMs);
      const next = waiting.shift();
      if (next === undefined) idle.push(connection);
      else next(connection);
    } catch {
      lost++;
      open--;
      const next = waiting.shift();
      if (next === undefined) return;
      open++;
      next(new RawConnection(port));
    }
  };
  if (rate !== undefined) {
    // They are open before the load begins, because a process accepts one connection per turn of its event loop.
    const opened = Array.from({ length: MAX_CONNECTIONS }, () => new RawConnection(port));
    await Promise.all(opened.map((connection) => connection.opened()));
    open = opened.length;
    idle.push(...opened);
  }
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1000;
  if (rate === undefined) {
    const oneAfterTheOther = async () => {
      while (performance.now() < endMs) await send(performance.now());
    };
    await Promise.all(Array.from({ length: connections ?? 1 }, oneAfterTheOther));
  } else {
    const underWay: Promise<void>[] = [];
    while (performance.now() < endMs) {
      const due = Math.floor(((performance.now() - beganMs) / 1000) * rate);
      while (sent < due) underWay.push(send(beganMs + (sent / rate) * 1000));
      await new Promise((resume) => setTimeout(resume, 2));
    }
    await Promise.all(underWay);
  }
  const elapsedSeconds = (performance.now() - beganMs) / 1000;
  for (const connection of idle) connection.close();
  durations.sort((a, b) => a - b);
  return {
    ...{ sent, lost, statuses },
    successesPerSecond: durations.length / elapsedSeconds,
    medianMs: durations[Math.floor(durations.length * 0.5)] ?? 0,
    p99Ms: durations[Math.floor(durations.length * 0.99)] ?? 0,
  };
}

function messageOf({ method, path, headers, body = "" }: MixedLoad["requests"][number], port: number): Buffer {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, "content-length": Buffer.byteLength(body), ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`);
}

/** A connection with one request under way at a time. */
class RawConnection {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #answer = Promise.withResolvers<string>();

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.setTimeout(TIMEOUT_MS, () => this.#socket.destroy());
    this.#socket.on("data", (chunk) => this.#read(chunk));
    this.#socket.on("error", (error) => this.#answer.reject(error));
    this.#socket.on("close", () => this.#answer.reject(new Error("the server closed the connection")));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  async opened(): Promise<void> {
    await once(this.#socket, "connect");
  }

  /** Sends a request and returns the status of its response, once all of it has arrived. */
  async ask(message: Buffer): Promise<string> {
    this.#received = Buffer.alloc(0);
    this.#answer = Promise.withResolvers();
    this.#socket.write(message);
    return this.#answer.promise;
  }

  close(): void {
    this.#answer.promise.catch(() => undefined);
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = this.#received.toString("latin1", 0, headEnd);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length >= headEnd + 4 + length) this.#answer.resolve(head.slice(9, 12));
  }
}

process.on("message", (load: MixedLoad) => {
  run(load).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
console.log("ready");
