import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../config.ts";
import { refuseBroken } from "./refuseBroken.ts";

/** How long a stopping server accepts requests on open connections, so that clients learn that these will close. */
const DRAIN_MS = 500;
/** Requests that are unanswered this long after the stop began are cut off, such as one that never sends its body. */
const STOP_TIMEOUT_MS = 6_000;

/** What a connection may take. Source: docs/contract.md "Limits". */
export const connectionLimits = {
  /** For the headers of a request, also of the first one on a new connection. */
  headersTimeoutMs: 10_000,
  /** For a whole request: 256 KiB take this long at 4.4 kB a second. */
  requestTimeoutMs: 60_000,
  /** How often the two above are checked. */
  checkIntervalMs: 2_000,
  /** Between two requests, longer than the 60 seconds after which load balancers close idle connections themselves. */
  keepAliveMs: 65_000,
  /** Without a byte in either direction, such as a client that does not read its answer. The longest answer is held back 30 s. */
  silenceMs: 120_000,
  /** From the answer to a broken or late request to the end of its connection, so that a client that still sends can read it. */
  farewellMs: 1_000,
  /**
   * Open connections; beyond it, a new one is closed at once. An idle one takes 23 kB of memory (measured), so that all of
   * them take 100 MB, and a file descriptor. Half of them may wait for events.
   */
  maxConnections: 4_000,
  /** Unanswered requests on one connection: browsers and the usual clients have one at a time. */
  maxPipelined: 50,
};

export interface HttpServer {
  /** Stops accepting requests and resolves when those that were accepted have been answered. */
  stop(): Promise<void>;
}

interface ServeOptions {
  limits?: typeof connectionLimits;
  /** Headers of the answers to what is not a valid request, which never reaches the application. */
  headers?: Readonly<Record<string, string>>;
  /** The setting that the port comes from, for the message when it is in use. */
  setting?: string;
}

/** Starts listening; `host` undefined means every interface. Throws ConfigError when the port is in use. */
export async function serve(
  listener: RequestListener,
  port: number,
  host: string | undefined,
  { limits = connectionLimits, headers = {}, setting = "PORT" }: ServeOptions = {},
): Promise<HttpServer> {
  const server = createServer({
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    // The application refuses such requests itself, with our own error body.
    requireHostHeader: false,
  });
  server.timeout = limits.silenceMs;
  server.maxConnections = limits.maxConnections;
  const underway = new Set<ServerResponse>();
  let stopping = false;
  const isAcceptable = refuseBroken(server, { ...limits, headers });
  const handle: RequestListener = (request, response) => {
    if (!isAcceptable(request)) return;
    if (stopping) announceClose(response);
    underway.add(response);
    response.once("close", () => underway.delete(response));
    listener(request, response);
  };
  server.on("request", handle);
  // Node would respond with an empty 417 to an unknown `Expect` header; we ignore it.
  server.on("checkExpectation", handle);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const message = `Port ${port} is in use. Set ${setting} to another port, or stop the process that uses it.`;
      reject(error.code === "EADDRINUSE" ? new ConfigError(message) : error);
    });
    server.listen(port, host, resolve);
  });
  return {
    async stop() {
      stopping = true;
      underway.forEach(announceClose);
      await closeGently(server);
    },
  };
}

/** Tells the client not to send its next request over this connection. */
function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("Connection", "close");
}

/**
 * Refuses new connections immediately. http's own `close` would also end idle connections immediately, and one on which a
 * request is just arriving counts as idle. So they stay open for a moment, in which every response says that its
 * connection will close. Then idle connections are ended, and the others after their responses.
 */
async function closeGently(server: Server): Promise<void> {
  // One turn of the event loop accepts the connections that the kernel has already established.
  await new Promise(setImmediate);
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const timeout = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS);
  await Promise.race([closed, sleep(DRAIN_MS)]);
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  await closed;
  clearInterval(idle);
  clearTimeout(timeout);
}
