import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../config.ts";
import { ApiError } from "../errors.ts";

const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 20_000;
/** How long a stopping server still takes requests, so that clients learn from an answer to use their connection no more. */
const DRAIN_MS = 500;
/** A request that is not answered this long after the stop began, such as one that never sends its body, is cut off. */
const STOP_TIMEOUT_MS = 6_000;

export interface HttpServer {
  /** Accepts no further request and resolves when those that were accepted are answered. */
  stop(): Promise<void>;
}

/** Listens; `host` undefined means every interface. Throws ConfigError when the port is taken. */
export async function serve(listener: RequestListener, port: number, host: string | undefined): Promise<HttpServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: HEADERS_TIMEOUT_MS });
  const underway = new Set<ServerResponse>();
  let stopping = false;
  server.on("request", (request, response) => {
    if (stopping) announceClose(response);
    underway.add(response);
    response.once("close", () => underway.delete(response));
    listener(request, response);
  });
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
 * `close` ends idle connections at once, and one on which a request is just arriving counts as idle. So for a moment
 * every answer says that its connection closes, and only then the idle ones are ended, the others after their answers.
 */
async function closeGently(server: Server): Promise<void> {
  await sleep(DRAIN_MS);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const tooLate = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS - DRAIN_MS);
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
  const body = JSON.stringify(new ApiError("invalid_input", { message }).toBody(""));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
