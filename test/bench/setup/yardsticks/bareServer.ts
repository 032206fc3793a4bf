import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** A request as a bare handler sees it: nothing is checked. */
export interface BareRequest {
  /** The ids in the path, in order. */
  ids: readonly string[];
  query: URLSearchParams;
  /** The JSON body. */
  // biome-ignore lint/suspicious/noExplicitAny: a bare handler trusts the body.
  body: any;
  /** The SHA-256 of the API key; of "" if there is none. */
  keyHash: Buffer;
}

/** Returns the body of the response. */
export type Handler = (request: BareRequest) => Promise<unknown>;

/** Handlers by method, path and names of query parameters, as in `POST /tasks/{id}/bids` and `GET /tasks?cursor`. */
export type Handlers = Record<string, Handler>;

const idPattern = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

/**
 * Serves handlers with `node:http` and nothing in between: a table of paths, `JSON.parse`, `JSON.stringify`. It knows no
 * errors: whatever goes wrong is a 500, which ends the measurement.
 */
export function serveBare(handlers: Handlers): void {
  const server = createServer((request, response) => {
    answer(handlers, request, response).catch((error: unknown) => {
      console.error(error);
      send(response, 500, String(error));
    });
  });
  server.listen(Number(process.env.PORT), "127.0.0.1", 4_096, () => console.log("ready"));
  process.once("SIGTERM", () => process.exit(0));
}

async function answer(handlers: Handlers, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = "", search = ""] = (request.url ?? "").split("?");
  const ids: string[] = [];
  const pattern = path.replace(idPattern, (id) => {
    ids.push(id);
    return "{id}";
  });
  const query = new URLSearchParams(search);
  const handler = handlers[`${request.method} ${pattern}${search && `?${[...query.keys()].join("&")}`}`];
  if (handler === undefined) throw new Error(`no handler for ${request.method} ${path}`);
  const key = (request.headers.authorization ?? "").slice("Bearer ".length);
  const output = await handler({
    ids,
    query,
    body: request.method === "POST" ? JSON.parse(await readBody(request)) : undefined,
    keyHash: createHash("sha256").update(key).digest(),
  });
  send(response, 200, JSON.stringify(output));
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString() || "null";
}
