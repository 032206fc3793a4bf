import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { rest } from "../setup/client.ts";
import { type ServiceProcess, useProcesses } from "../setup/serviceProcess.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const { start, preparedDirectory } = useProcesses();
const balancers: Balancer[] = [];
afterEach(async () => {
  for (const balancer of balancers.splice(0)) await balancer.close();
});

/** Sends each request once, over kept-alive connections, to a server whose `/readyz` did not fail twice in a row. */
class Balancer {
  readonly #ready = new Set<string>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server: Server;
  #isOver = false;
  #turn = 0;

  constructor(urls: readonly string[]) {
    this.#server = createServer((incoming, outgoing) => {
      const ready = [...this.#ready];
      const url = ready[this.#turn++ % ready.length];
      const refuse = (reason: string) => outgoing.writeHead(502).end(reason);
      if (url === undefined) return refuse("no server is ready");
      const { method, headers } = incoming;
      const passedOn = request(`${url}${incoming.url}`, { method, headers, agent: this.#agent }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] ?? "" });
        answer.pipe(outgoing);
      });
      passedOn.on("error", (error) => refuse(error.message));
      incoming.pipe(passedOn);
    });
    for (const url of urls) void this.#check(url);
  }

  async #check(url: string): Promise<void> {
    for (let failures = 0; !this.#isOver; await sleep(100)) {
      const isReady = await fetch(`${url}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      );
      failures = isReady ? 0 : failures + 1;
      if (isReady) this.#ready.add(url);
      else if (failures === 2) this.#ready.delete(url);
    }
  }

  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits until exactly these servers get requests. */
  async leadsTo(count: number): Promise<void> {
    await expect.poll(() => this.#ready.size, { interval: 20 }).toBe(count);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#agent.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

async function open(urls: string[]) {
  const balancer = new Balancer(urls);
  balancers.push(balancer);
  return { balancer, url: await balancer.open() };
}

test("two api processes restarted in turn, behind a balancer that repeats nothing, lose no request", async () => {
  const DATA_DIR = await preparedDirectory();
  // Owns the embedded services, and stays.
  await (await start({ DATA_DIR })).ready();
  const variables = { DATA_DIR, ROLE: "api", DRAIN_SECONDS: "3" };
  const startApi = async (PORT: string) => {
    const api = await start({ ...variables, PORT });
    await api.ready();
    return api;
  };
  const ports = [String(await unusedPort()), String(await unusedPort())];
  const apis = await Promise.all(ports.map(startApi));
  const { balancer, url } = await open(apis.map((api) => api.url));
  await balancer.leadsTo(2);

  const statuses = new Map<string, number>();
  let isOver = false;
  const count = ({ status, text }: { status: number; text: string }) => {
    const name = status < 300 ? String(status) : `${status} ${text}`;
    statuses.set(name, (statuses.get(name) ?? 0) + 1);
  };
  const client = async (client: number) => {
    for (let turn = 0; !isOver; turn++) {
      const body = { email: `p${client}.${turn}@example.com`, password: "correct horse battery", displayName: "P" };
      count(await rest(url, "GET", "/tasks"));
      if (turn % 10 === 0) count(await rest(url, "POST", "/auth/signup", { body }));
    }
  };
  const clients = Array.from({ length: 3 }, (_, number) => client(number));
  for (const api of apis) {
    const ended = api.stop();
    await balancer.leadsTo(1);
    expect((await ended).code).toBe(0);
    await startApi(new URL(api.url).port);
    await balancer.leadsTo(2);
  }
  isOver = true;
  await Promise.all(clients);
  expect([...statuses.keys()].sort()).toEqual(["200", "201"]);
});

test("for DRAIN_SECONDS after SIGTERM, /readyz says draining while requests and new connections are answered", async () => {
  const api = await start({ DATA_DIR: await preparedDirectory(), DRAIN_SECONDS: "1.5" });
  await api.ready();
  expect((await rest(api.url, "GET", "/readyz")).body).toEqual({ status: "ok" });
  const ended = api.stop();
  await expect.poll(async () => (await rest(api.url, "GET", "/readyz")).status, { interval: 20 }).toBe(503);
  const [ready, live, tasks] = await Promise.all(["/readyz", "/livez", "/tasks"].map((path) => freshly(api, path)));
  expect(ready).toEqual({ status: 503, body: { status: "draining" } });
  expect([live?.status, tasks?.status]).toEqual([200, 200]);
  const { code, ms } = await ended;
  expect(code).toBe(0);
  expect(ms).toBeGreaterThanOrEqual(1_500);
});

/** Asks over a connection of its own. */
async function freshly({ url }: ServiceProcess, path: string) {
  const [answer]: IncomingMessage[] = await once(request(`${url}${path}`, { agent: false }).end(), "response");
  if (answer === undefined) throw new Error("no answer");
  return { status: answer.statusCode, body: JSON.parse(await text(answer)) };
}
