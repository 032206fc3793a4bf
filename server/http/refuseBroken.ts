import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ApiError } from "../errors.ts";

interface Connection {
  /** The responses that are under way, in the order of their requests. */
  responses: Set<ServerResponse>;
  last: ServerResponse | null;
  isRefused: boolean;
}

interface Limits {
  farewellMs: number;
  maxPipelined: number;
}

/**
 * Answers what is not a valid HTTP request, takes too long to arrive, or is one too many of those that its connection has
 * under way, over the raw socket, with the same error body as for any other. The answer waits for those of earlier requests
 * on the connection, which is then destroyed: a client that keeps its half open would otherwise keep it for good.
 *
 * Returns whether a request may be handled. It must be asked before any other work: a parser that has read a thousand
 * pipelined requests hands over all of them at once, and everybody else waits meanwhile.
 */
export function refuseBroken(
  server: Server,
  { farewellMs, maxPipelined, headers }: Limits & { headers: Readonly<Record<string, string>> },
): (request: IncomingMessage) => boolean {
  const connections = new WeakMap<Socket, Connection>();
  const connectionOf = (socket: Socket): Connection => {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = { responses: new Set(), last: null, isRefused: false };
    connections.set(socket, connection);
    return connection;
  };
  const refuse = (socket: Socket, message: string) => {
    const connection = connectionOf(socket);
    connection.isRefused = true;
    afterEarlierAnswers(connection, () =>
      farewell(socket, isAnswered(connection) ? "" : answerWith(message, headers), farewellMs),
    );
  };
  server.prependListener("request", track);
  server.prependListener("checkExpectation", track);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    // The parser reports every further piece of a broken request.
    if (!connectionOf(socket).isRefused) refuse(socket, messageFor(error));
  });
  return ({ socket }) => !connectionOf(socket).isRefused;

  function track({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = connectionOf(socket);
    if (connection.isRefused) return;
    if (connection.responses.size >= maxPipelined) {
      refuse(socket, "Too many requests on this connection wait for their responses.");
      return;
    }
    connection.responses.add(response);
    connection.last = response;
    response.once("close", () => connection.responses.delete(response));
  }
}

/** True if the request whose body is broken was answered before all of it had arrived. */
function isAnswered({ last }: Connection): boolean {
  return last !== null && !last.req.complete && last.headersSent;
}

/** Calls `then` after the answers to all requests that arrived completely, and those that have begun. */
function afterEarlierAnswers({ responses }: Connection, then: () => void): void {
  const earlier = [...responses].filter(({ req, headersSent }) => req.complete || headersSent);
  let open = earlier.length;
  if (open === 0) then();
  for (const response of earlier) {
    response.once("close", () => {
      open--;
      if (open === 0) then();
    });
  }
}

function farewell(socket: Socket, answer: string, farewellMs: number): void {
  // An earlier answer can have ended the connection already, and may still be on its way.
  if (socket.writable) socket.end(answer);
  const timeout = setTimeout(() => socket.destroy(), farewellMs);
  socket.once("close", () => clearTimeout(timeout));
}

function answerWith(message: string, headers: Readonly<Record<string, string>>): string {
  const requestId = crypto.randomUUID();
  const body = JSON.stringify(new ApiError("invalid_input", { message }).toBody(requestId));
  const head = [
    "HTTP/1.1 400 Bad Request",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "Connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

function messageFor({ code }: NodeJS.ErrnoException): string {
  if (code === "HPE_HEADER_OVERFLOW") return "The headers are too large.";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "The request took too long to arrive.";
  return "This is not a valid HTTP request.";
}
