import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../config.ts";
import { ApiError } from "../errors.ts";

const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 20_000;
/** How long a stopping server accepts requests on open connections, so that clients learn that these will close. */
const DRAIN_MS = 500;
/** Requests that are unanswered this long after the stop began are cut off, such as one that never sends its body. */
const STOP_TIMEOUT_MS = 6_000;

export interface HttpServer {
  /** Stops accepting requests and resolves when those that were accepted have been answered. */
  stop(): Promise<void>;
}

/** Starts listening; `host` undefined means every interface. Throws ConfigError when the port is in use. */
export async function serve(listener: RequestListener, port: number, host: string | undefined): Promise<HttpServer> {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // The application refuses such requests itself, with our own error body.
    requireHostHeader: false,
  });
  const underway = new Set<ServerResponse>();
  let stopping = false;
  const handle: RequestListener = (request, response) => {
    if (stopping) announceClose(response);
    underway.add(response);
    response.once("close", () => underway.delete(response));
    listener(request, response);
  };
  server.on("request", handle);
  // Node would respond with an empty 417 to an unknown `Expect` header; we ignore it.
  server.on("checkExpectation", handle);
  server.on("clientError", respondToBrokenRequest);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const message = `Port ${port} is in use. Set PORT to another port, or stop the process that uses it.`;
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

/** Responds to a request that is not valid HTTP, over the raw socket, with the same error body as for any other. */
function respondToBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const message =
    error.code === "HPE_HEADER_OVERFLOW" ? "The headers are too large." : "This is not a valid HTTP request.";
  const requestId = crypto.randomUUID();
  const body = JSON.stringify(new ApiError("invalid_input", { message }).toBody(requestId));
  const head = [
    "HTTP/1.1 400 Bad Request",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
