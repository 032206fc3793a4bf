import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";

export interface ReceivedRequest {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

type Step = (response: ServerResponse, request: ReceivedRequest) => void;

/** A server that answers each request as the next step of a script says, and the last step from then on. */
export interface ScriptedServer {
  url: string;
  requests: ReceivedRequest[];
  /** Begins a script, and forgets the requests of the last one. */
  play(...steps: Step[]): void;
}

export function useScriptedServer(): ScriptedServer {
  let script: Step[] = [];
  const scripted: ScriptedServer = {
    url: "",
    requests: [],
    play: (...steps) => {
      script = steps;
      scripted.requests = [];
    },
  };
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    // Without a listener, a request that its client ends would end the process.
    message.on("error", () => {});
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const { method, url, headers } = message;
      const request = { method, url, headers, body: Buffer.concat(chunks).toString() };
      scripted.requests.push(request);
      (script.length > 1 ? script.shift() : script[0])?.(response, request);
    });
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    scripted.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return scripted;
}

/** Answers with JSON. */
export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Step =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(status === 204 ? undefined : JSON.stringify(body));
  };

/** Answers with an error of the service. */
export const refusal = (status: number, error: string, headers: Record<string, string> = {}): Step =>
  json(status, { error, message: "A message.", requestId: "r1" }, headers);

/** Breaks the connection without an answer. */
export const reset: Step = (response) => response.destroy();

/** Breaks the connection in the middle of an answer. */
export const halfAnswer: Step = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"availableCents":', () => response.destroy());
};

/** Never answers. */
export const hang: Step = () => {};
