import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Clock, systemClock } from "../../gateways/clock.ts";
import { listen } from "../listen.ts";
import { Api } from "./api/api.ts";
import { apiVersion } from "./api/parameters.ts";
import { Deliveries } from "./model/deliveries.ts";
import { Refusal } from "./model/refusal.ts";
import { startSchedule } from "./model/schedule.ts";
import { Store } from "./model/store.ts";
import type { World } from "./model/world.ts";
import { handlePage } from "./pages/handlePage.ts";
import { actions, routes } from "./resources/routes.ts";
import { handleTestCall } from "./testApi/run.ts";

interface ProcessorOptions {
  /** The directory of `processor.sqlite`. It is created if it does not exist. */
  directory: string;
  /** The port on 127.0.0.1, if it is free. */
  preferredPort?: number | undefined;
  /** As at Stripe, two keys work and two secrets sign while one is being replaced. Commas separate them; both are read each time. */
  secretKey: string;
  webhookSecret: string;
  /** The URL that events are posted to. */
  eventsUrl: string;
  /** Duration of each step of a slow process, in milliseconds. Defaults to 1000. */
  stepMs?: number;
  /** Defaults to the machine's. */
  clock?: Clock;
}

const MAX_BODY_BYTES = 1_000_000;

/**
 * Starts the embedded payment processor, which replaces Stripe in development and tests. It serves Stripe's API to the
 * `stripe` package, keeps exact balances, shows the hosted pages and posts signed events.
 * @returns `url` without a trailing slash, and `stop`, which closes open connections; all state is kept for the next
 * start
 */
export async function startProcessor(options: ProcessorOptions): Promise<{ url: string; stop(): Promise<void> }> {
  const store = new Store(options.directory);
  const clock = options.clock ?? systemClock;
  const world: World = {
    store,
    url: "",
    eventsUrl: options.eventsUrl,
    apiVersion,
    nowMs: () => clock.now().getTime(),
    realMs: () => clock.real().getTime(),
    stepMs: options.stepMs ?? 1_000,
  };
  const api = new Api(world, routes, options);
  const deliveries = new Deliveries(world, options);
  const schedule = startSchedule(world, actions, () => deliveries.alarm.check());
  const server = createServer((request, response) => {
    void serve(world, api, request, response).finally(() => {
      // The request may have scheduled an action or queued an event.
      schedule.check();
      deliveries.alarm.check();
    });
  });
  try {
    world.url = `http://127.0.0.1:${await listen(server, options.preferredPort)}`;
  } catch (error) {
    store.close();
    throw error;
  }
  deliveries.start();
  schedule.check();
  const ignoreClock = clock.onAdvance(() => {
    schedule.check();
    deliveries.alarm.check();
  });

  return {
    url: world.url,
    async stop() {
      ignoreClock();
      schedule.stop();
      deliveries.stop();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      store.close();
    },
  };
}

async function serve(world: World, api: Api, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // `close` is also emitted after a complete response, but then nothing waits for it.
  const clientGone = new Promise<void>((resolve) => void response.once("close", resolve));
  try {
    const body = await readBody(request);
    const method = request.method ?? "GET";
    const url = new URL(request.url ?? "/", world.url);
    if (/^\/v[12]\//.test(url.pathname)) {
      const result = await api.handle({ method, url, headers: request.headers, body, clientGone });
      if (result.reset) request.socket.resetAndDestroy();
      else send(response, result.status, { ...result.headers, "Content-Type": "application/json" }, result.body);
      return;
    }
    requireOwnOrigin(request);
    if (/^\/test(\/|$)/.test(url.pathname)) {
      const result = handleTestCall(world, method, url.pathname, body);
      send(response, 200, { "Content-Type": "application/json" }, JSON.stringify(result));
      return;
    }
    const page = handlePage(world, method, url, body);
    if (page === null) send(response, 404, { "Content-Type": "text/plain" }, "Not found.\n");
    else send(response, page.status, page.headers, page.body);
  } catch (error) {
    // The client disconnected during its request.
    if (request.destroyed && !(error instanceof Refusal)) return;
    const refusal = error instanceof Refusal ? error : new Refusal(500, { message: String(error), type: "api_error" });
    if (refusal !== error) console.error("The embedded processor failed:", error);
    if (!response.headersSent && !response.destroyed) {
      send(response, refusal.status, { "Content-Type": "application/json" }, JSON.stringify(refusal.body));
    }
  }
}

/** Refuses requests from pages of other sites: they must not be able to press the buttons here. */
function requireOwnOrigin({ headers: { origin, host } }: IncomingMessage): void {
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)) {
    throw new Refusal(403, { message: "This request comes from another site." });
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Refusal(413, { message: "The request is too large." });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, status: number, headers: Record<string, string>, body: string): void {
  response.writeHead(status, { ...headers, "Content-Length": String(Buffer.byteLength(body)) });
  response.end(body);
}
