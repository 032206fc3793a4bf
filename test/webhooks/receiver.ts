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
  /** The requests to this path, oldest first. */
  at(path: string): Received[];
  stop(): Promise<void>;
}

/**
 * Returns the status to respond with, or a function that responds, or "never". `count` is the number of requests to
 * this path so far.
 */
export type Behaviour = (request: Received, count: number) => number | "never" | ((response: ServerResponse) => void);

/** Starts a receiver of webhooks such as a customer would run. */
export async function startReceiver(behave: Behaviour = () => 200): Promise<Receiver> {
  const received: Received[] = [];
  const at = (path: string) => received.filter((request) => request.path === path);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // without an encoding, chunks are buffers
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

/** Polls until `check` returns a truthy value, and returns it. Throws after a minute, naming `what`. */
export async function eventually<Value>(
  what: string,
  check: () => Value | Promise<Value>,
): Promise<Exclude<Value, false | null | undefined>> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const value = await check();
    if (value) return value as Exclude<Value, false | null | undefined>; // the check above says so
    await new Promise((resume) => setTimeout(resume, 10));
  }
  throw new Error(`timed out waiting for ${what}`);
}
