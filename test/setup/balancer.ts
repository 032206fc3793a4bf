import { once } from "node:events";
import { Agent, createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect } from "vitest";

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
        const { connection: _, "keep-alive": __, "transfer-encoding": ___, ...passed } = answer.headers;
        outgoing.writeHead(answer.statusCode ?? 502, passed);
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

/** Balancers in front of servers. Those of a test are closed after it. */
export function useBalancers() {
  const balancers: Balancer[] = [];
  afterEach(async () => {
    for (const balancer of balancers.splice(0)) await balancer.close();
  });
  return async (urls: string[]): Promise<{ balancer: Balancer; url: string }> => {
    const balancer = new Balancer(urls);
    balancers.push(balancer);
    return { balancer, url: await balancer.open() };
  };
}
