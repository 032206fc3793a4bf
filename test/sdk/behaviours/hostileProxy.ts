import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer of the proxy's own. `error` writes the body of one of the service's errors; `cut` breaks the connection after it. */
interface OwnAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  text?: string;
  error?: string;
  details?: object;
  cut?: boolean;
}

/** What the proxy does with a request: `pass` hands it on to the service, and `lose` does too, but keeps the answer. */
export type Step = OwnAnswer | "reset" | "halfAnswer" | "hang" | "slow" | "pass" | "lose";

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface HostileProxy {
  url: string;
  requests: ReceivedRequest[];
  /** Begins a script: a step for each request, and the last one from then on. */
  play(steps: readonly Step[]): void;
  close(): Promise<void>;
}

/**
 * Starts what can stand between a client and the service. Programs in other languages control it by requests to
 * `/__script` (POST: a list of steps) and `/__requests` (GET: what has come since).
 */
export async function startHostileProxy(serviceUrl: () => string): Promise<HostileProxy> {
  let script: Step[] = [];
  const server = createServer((message, response) => {
    message.on("error", () => {}); // a client may give up
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const { method = "", url: path = "", headers } = message;
      const request = { method, path, headers, body: Buffer.concat(chunks).toString() };
      if (path === "/__script") {
        proxy.play(JSON.parse(request.body));
        return response.end();
      }
      if (path === "/__requests") return response.end(JSON.stringify(proxy.requests));
      proxy.requests.push(request);
      const step = (script.length > 1 ? script.shift() : script[0]) ?? "hang";
      void take(step, request, response, { proxyUrl: proxy.url, serviceUrl: serviceUrl() });
    });
  });
  const proxy: HostileProxy = {
    url: await listen(server),
    requests: [],
    play(steps) {
      script = [...steps];
      proxy.requests = [];
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // as of every TCP server
}

interface Places {
  proxyUrl: string;
  serviceUrl: string;
}

async function take(step: Step, request: ReceivedRequest, response: ServerResponse, places: Places): Promise<void> {
  const json = { "content-type": "application/json" };
  if (step === "hang") return;
  if (step === "reset") return void response.destroy();
  if (step === "halfAnswer") {
    response.writeHead(200, { ...json, "content-length": "1000" });
    return void response.write('{"availableCents":', () => response.destroy());
  }
  if (step === "slow") return dribble(response.writeHead(200, json));
  if (step === "pass" || step === "lose") return forward(step, request, response, places);
  const { status, headers = {}, cut = false } = step;
  const body =
    step.error === undefined
      ? step.body
      : { error: step.error, message: "A message.", requestId: "r1", ...step.details };
  const text = step.text ?? JSON.stringify(body).replaceAll("{proxy}", places.proxyUrl);
  response.writeHead(status, { ...(step.text === undefined ? json : { "content-type": "text/html" }), ...headers });
  if (!cut) return void response.end(text);
  response.write(text, () => response.destroy());
}

/** A byte now and then: each arrives in time, and the whole never. */
function dribble(response: ServerResponse): void {
  const timer = setInterval(() => response.write(" "), 50);
  response.on("close", () => clearInterval(timer));
}

async function forward(
  step: "pass" | "lose",
  request: ReceivedRequest,
  response: ServerResponse,
  { serviceUrl }: Places,
): Promise<void> {
  const { method, path, body } = request;
  const { host: _, "content-length": _length, connection: _connection, ...headers } = request.headers;
  const answer = await fetch(serviceUrl + path, {
    method,
    headers: headers as Record<string, string>,
    ...(body !== "" && { body }),
  });
  const text = await answer.text();
  if (step === "lose") return void response.destroy();
  const {
    "content-encoding": _encoding,
    "transfer-encoding": _transfer,
    "content-length": _size,
    ...kept
  } = Object.fromEntries(answer.headers);
  response.writeHead(answer.status, kept);
  response.end(text);
}
