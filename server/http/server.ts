import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { ConfigError } from "../config.ts";
import { ApiError } from "../errors.ts";

const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 20_000;

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
  let stopping = false;
  const answer: RequestListener = (request, response) => {
    // A client must not send its next request over a connection that is about to close.
    if (stopping) response.setHeader("Connection", "close");
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
      await closeGently(server);
    },
  };
}

/** `close` ends idle connections at once and the others as soon as their answers are out. */
async function closeGently(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  await closed;
  clearInterval(idle);
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
