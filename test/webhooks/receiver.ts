import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** The exact bytes. */
  body: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came, and asserts what it is
  event: any;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** What this path got. */
  at(path: string): Received[];
  stop(): Promise<void>;
}

/** Answers with a status code, or in its own way, or never. */
export type Behaviour = (request: Received, count: number) => number | "never" | ((response: ServerResponse) => void);

/** A receiver of webhooks as a customer would run it; `count` in a behaviour is the number of the request on its path. */
export async function startReceiver(behave: Behaviour = () => 200): Promise<Receiver> {
  const received: Received[] = [];
  const at = (path: string) => received.filter((request) => request.path === path);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // a request without an encoding gives buffers
    const body = Buffer.concat(chunks);
    const seen = { path: request.url ?? "", headers: request.headers, body, event: JSON.parse(body.toString()) };
    received.push(seen);
    const answer = behave(seen, at(seen.path).length);
    if (typeof answer === "function") answer(response);
    else if (answer !== "never") response.writeHead(answer, { location: "/elsewhere" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    at,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Waits until `check` gives something true, and gives that; fails after the deadline with what it was waiting for. */
export async function eventually<Value>(
  what: string,
  check: () => Value | Promise<Value>,
  timeoutMs = 15_000,
): Promise<Exclude<Value, false | null | undefined>> {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    const value = await check();
    if (value) return value as Exclude<Value, false | null | undefined>; // the check above says so
    await new Promise((resume) => setTimeout(resume, 10));
  }
  throw new Error(`waited in vain: ${what}`);
}
