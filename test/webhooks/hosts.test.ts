import { afterEach, expect, test } from "vitest";
import { startDeliverer } from "../../server/webhooks/deliverer.ts";
import { receivingHost } from "../../server/webhooks/host.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";
import { eventually, startReceiver } from "./receiver.ts";

const service = useService({ settings: { webhookAllowInsecure: true } });
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Two workers whose clock moves only when the test says so. */
function startWorkers(): { advance(seconds: number): void } {
  let nowMs = Date.now() + 1_000;
  const clock = clockOf(() => new Date(nowMs));
  for (let count = 0; count < 2; count++) {
    const deliverer = startDeliverer({ ...service.services, clock });
    stops.push(deliverer.stop);
  }
  return {
    advance(seconds) {
      nowMs += seconds * 1000;
    },
  };
}

test("a server that has not answered with 2xx gets one request a second from all users and workers, and nothing is lost when it does", async () => {
  let status = 404;
  const receiver = await startReceiver(() => status);
  stops.push(receiver.stop);
  const { port } = new URL(receiver.url);
  // Three users, and three spellings of one host.
  for (const host of ["127.0.0.1", "127.1", "0x7f000001"]) {
    const person = await createPerson(service);
    const url = `http://${host}:${port}/${host}`;
    expect((await person.post("/webhooks", { url, events: ["task.created"] })).status).toBe(201);
  }
  const buyer = await createPerson(service, { cents: 1_000_000 });
  for (let count = 0; count < 3; count++) await postTask(buyer);
  const { prisma } = service.services.database;
  const deliveries = () => prisma.webhookDelivery.findMany();
  const workers = startWorkers();

  for (let sent = 1; sent <= 4; sent++) {
    await eventually(`request ${sent}`, () => receiver.received.length === sent);
    await eventually("its record", async () => {
      return (await deliveries()).filter(({ status }) => status === "failed").length === sent;
    });
    if (sent < 4) workers.advance(1);
  }
  // The endpoints take turns.
  expect(new Set(receiver.received.slice(0, 3).map(({ path }) => path)).size).toBe(3);
  await eventually("the others to be held back", async () => {
    return (await deliveries()).filter(({ heldFor }) => heldFor === `127.0.0.1:${port}`).length === 9 - 4;
  });
  expect(receiver.received).toHaveLength(4);

  status = 200;
  workers.advance(1);
  await eventually("the others", async () => {
    return (await deliveries()).filter(({ status }) => status === "succeeded").length === 9 - 4;
  });
  expect(receiver.received).toHaveLength(9);
  expect((await deliveries()).every(({ attempts }) => Array.isArray(attempts) && attempts.length === 1)).toBe(true);

  // Once proven, even failures are sent at full speed.
  status = 404;
  workers.advance(30 * 24 * 3600);
  for (let count = 0; count < 2; count++) await postTask(buyer);
  await eventually("the failures", () => receiver.received.length === 15);
});

test.each([
  ["https://Example.COM/hook", "example.com:443"],
  ["https://example.com.:443/", "example.com:443"],
  ["http://example.com/", "example.com:80"],
  ["https://example.com:8443/", "example.com:8443"],
  ["https://bücher.example/", "xn--bcher-kva.example:443"],
  ["https://ｅxample.com/", "example.com:443"],
  ["https://0x5db8d70e/", "93.184.215.14:443"],
  ["https://[::ffff:93.184.215.14]/", "93.184.215.14:443"],
  ["https://[2606:2800:21f:0::1]/", "[2606:2800:21f::1]:443"],
])("%s points to %s", (url, host) => {
  expect(receivingHost(url)).toBe(host);
});
