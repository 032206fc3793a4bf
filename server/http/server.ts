import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../config.ts";
import { ApiError } from "../errors.ts";

const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 20_000;
/** How long a stopping server still takes requests on open connections, so that clients learn to leave them. */
const DRAIN_MS = 500;
/** A request that is not answered this long after the stop began, such as one that never sends its body, is cut off. */
const STOP_TIMEOUT_MS = 6_000;

export interface HttpServer {
  /** Accepts no further request and resolves when those that were accepted are answered. */
  stop(): Promise<void>;
}

/** Listens; `host` undefined means every interface. Throws ConfigError when the port is taken. */
export async function serve(listener: RequestListener, port: number, host: string | undefined): Promise<HttpServer> {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // The application refuses such a request itself, in the one shape of errors.
    requireHostHeader: false,
  });
  const underway = new Set<ServerResponse>();
  let stopping = false;
  const answer: RequestListener = (request, response) => {
    if (stopping) announceClose(response);
    underway.add(response);
    response.once("close", () => underway.delete(response));
    listener(request, response);
  };
  server.on("request", answer);
  // Node's own answer to an expectation that it does not know is an empty 417; we ignore what we do not know.
  server.on("checkExpectation", answer);
  server.on("clientError", answerBrokenRequest);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const message = `Port ${port} is in use: set PORT to another one, or stop what listens there.`;
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

/** A client must not send its next request over a connection that is about to close. */
function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("Connection", "close");
}

/**
 * Takes no new connections at once. http's own `close` would also end the idle ones at once, and one on which a request
 * is just arriving counts as idle: so for a moment they stay open, every answer says that its connection closes, and only
 * then those that are idle are ended, the others after their answers.
 */
async function closeGently(server: Server): Promise<void> {
  // One turn of the loop takes in the connections that the kernel has made and we have not seen.
  await new Promise(setImmediate);
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const tooLate = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS);
  await Promise.race([closed, sleep(DRAIN_MS)]);
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  await closed;
  clearInterval(idle);
  clearTimeout(tooLate);
}

/** What is no HTTP at all gets the documented shape, too, as far as a raw socket allows. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const message =
    error.code === "HPE_HEADER_OVERFLOW" ? "The headers are too large." : "This is no valid HTTP request.";
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
