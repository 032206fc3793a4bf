import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { useBalancers } from "../setup/balancer.ts";
import { rest } from "../setup/client.ts";
import { type ServiceProcess, useProcesses } from "../setup/serviceProcess.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const { start, preparedDirectory } = useProcesses();
const openBalancer = useBalancers();

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
  const { balancer, url } = await openBalancer(apis.map((api) => api.url));
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
