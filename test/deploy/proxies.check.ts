import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import { serve } from "../../server/http/server.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { openStream } from "../setup/eventStream.ts";
import { useService } from "../setup/testService.ts";
import { unusedPort } from "../setup/unusedPort.ts";
import { type ProxyName, proxyNames, type RunningProxy, startProxy } from "./proxies.ts";

/** How long a stream of events has to last. By hand, make it minutes. */
const STREAM_MS = Number(process.env.STREAM_SECONDS ?? 5) * 1_000;

const service = useService({ worker: true });
const stops: (() => Promise<unknown>)[] = [];
/** In front of the service and of a process that does not run. */
const proxies = new Map<ProxyName, RunningProxy>();
/** In front of a process that hangs up on every request, and of one that does not run. */
const lonely = new Map<ProxyName, RunningProxy>();
/** The requests that arrived at the process that hangs up, without its health checks. */
const cutOff: string[] = [];

beforeAll(async () => {
  const port = await unusedPort();
  const server = await serve(createApp(service.services, { trustProxy: 1 }), port, "127.0.0.1");
  stops.push(() => server.stop());
  const rude = createServer((request) => {
    if (request.url === "/readyz") return void request.socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    cutOff.push(`${request.method} ${request.url}`);
    request.socket.destroy();
  });
  await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve));
  stops.push(() => new Promise((resolve) => rude.close(resolve)));
  const rudePort = (rude.address() as AddressInfo).port;
  const nobody = `127.0.0.1:${await unusedPort()}`;
  for (const name of proxyNames) {
    for (const [group, api] of [
      [proxies, `127.0.0.1:${port}`],
      [lonely, `127.0.0.1:${rudePort}`],
    ] as const) {
      const proxy = await startProxy(name, [api, nobody]);
      stops.push(proxy.stop);
      group.set(name, proxy);
    }
  }
  const authorities = [...proxies.values(), ...lonely.values()].map(({ authority }) => authority);
  setDefaultCACertificates([...getCACertificates("default"), ...authorities]);
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

const urlOf = (name: ProxyName, group = proxies) => group.get(name)?.url ?? "";
/** The same database through a proxy, so that people trade there. */
const through = (name: ProxyName) => ({ ...service, url: urlOf(name) });

describe.each(proxyNames)("%s", (name) => {
  test("a task is posted, done with an upload, and paid over TLS", async () => {
    const [buyer, bidder] = [await createPerson(through(name), { cents: 10_000 }), await createPerson(through(name))];
    const { task } = await deliveredTask(buyer, bidder, { maxBudgetCents: 10_000, priceCents: 8_000 });
    expect((await buyer.post(`/tasks/${task.id}/accept`)).body.task.status).toBe("accepted");
  });

  test("the service knows the address of the client, whatever the client says", async () => {
    const headers = { "x-forwarded-for": "203.0.113.7" };
    const body = { email: `nobody-${name}@example.com`, password: "not the password" };
    expect((await rest(urlOf(name), "POST", "/auth/login", { body, headers })).status).toBe(401);
    expect(service.securityEntries.at(-1)).toMatchObject({ address: "127.0.0.1" });
  });

  test.each([300_000, 2_000_000, 6_000_000])(
    "a body of %i bytes is refused with the documented error",
    async (bytes) => {
      const { session } = await createPerson(through(name));
      const body = { title: "t", description: "x".repeat(bytes), maxBudgetCents: 100, tags: [] };
      const answer = await rest(urlOf(name), "POST", "/tasks", { body, credentials: session });
      expect([answer.status, answer.body]).toEqual([
        413,
        { error: "payload_too_large", message: expect.stringContaining("256 KiB"), requestId: expect.any(String) },
      ]);
      expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
      // The connection, or a new one, serves the next request.
      expect((await rest(urlOf(name), "GET", "/wallet", { credentials: session })).status).toBe(200);
    },
  );

  test("without a process that answers, it answers like the service, and never sends a POST twice", async () => {
    cutOff.length = 0;
    const path = `/tasks?from=${name}`;
    // Each on a connection of its own: HAProxy hangs up, too, on a client whose connection has served before.
    const headers = { connection: "close" };
    for (const method of ["POST", "GET"]) {
      const answer = await rest(urlOf(name, lonely), method, path, { headers, ...(method === "POST" && { body: {} }) });
      expect([answer.status, answer.body]).toEqual([
        503,
        { error: "unavailable", message: expect.stringContaining("Retry-After"), requestId: expect.any(String) },
      ]);
      expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
    expect(cutOff.filter((request) => request === `POST ${path}`).length).toBeLessThanOrEqual(1);
  });
});

test(`streams of events last, and each event arrives at once (${STREAM_MS / 1_000} s)`, async () => {
  await Promise.all(
    proxyNames.map(async (name) => {
      const person = await createPerson(through(name), { cents: 10_000 });
      const stream = await openStream(urlOf(name), "/events/stream", person.key);
      expect(stream.status).toBe(200);
      const until = Date.now() + STREAM_MS;
      // Comments come all the time; without them a proxy would end the stream.
      for (;;) {
        const message = await stream.next();
        expect(message, `the stream through ${name}`).not.toBeNull();
        if (Date.now() >= until) break;
      }
      const task = await postTask(person);
      // Tasks are public, so those of the other two arrive as well.
      for (;;) {
        const { event } = await stream.nextEvent();
        if (event.type === "task.created" && event.data.task.id === task.id) break;
      }
    }),
  );
});
