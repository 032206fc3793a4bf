import { expect, test } from "vitest";
import { startDeliverer } from "../../server/webhooks/deliverer.ts";
import { createPerson } from "../factories/people.ts";
import { useService } from "../setup/testService.ts";
import { eventually, startReceiver } from "./receiver.ts";

const service = useService({ settings: { webhookAllowInsecure: true } });

test("a stopping worker records the responses that still come and does not wait for endpoints that hang; another worker sends to those again", async () => {
  const { services } = service;
  const receiver = await startReceiver(({ path }, count) =>
    path === "/hangs" && count === 1 ? "never" : (response) => setTimeout(() => response.writeHead(200).end(), 300),
  );
  const owner = await createPerson(service);
  const statusOf = new Map<string, () => Promise<string>>();
  const worker = startDeliverer(services);
  for (const path of ["/hangs", "/answers"]) {
    const { id } = (await owner.post("/webhooks", { url: receiver.url + path, events: ["task.created"] })).body;
    await owner.post(`/webhooks/${id}/test`);
    statusOf.set(path, async () => (await owner.get(`/webhooks/${id}/deliveries`)).body.deliveries[0].status);
  }
  await eventually("both are under way", () => receiver.received.length === 2);

  await worker.stop();

  expect(await statusOf.get("/answers")?.()).toBe("succeeded");
  expect(await statusOf.get("/hangs")?.()).toBe("pending");
  const next = startDeliverer(services);
  service.clock.advance(16); // the lease: the deadline of 10 s and a margin of 5 s
  await eventually("the second try", async () => (await statusOf.get("/hangs")?.()) === "succeeded");
  await next.stop();
  await receiver.stop();
});

test("deliveries that fail on our side leave their endpoint's requests to others, and are sent when their leases end", async () => {
  const { services } = service;
  const receiver = await startReceiver(() => 200);
  let failures = 0;
  const egress: typeof services.egress = {
    ...services.egress,
    post(...request) {
      if (failures++ < 4) throw new Error("a bug");
      return services.egress.post(...request);
    },
  };
  const owner = await createPerson(service);
  const { id } = (await owner.post("/webhooks", { url: receiver.url, events: ["task.created"] })).body;
  // A host that has answered: its endpoints have lanes of four requests.
  const first = startDeliverer(services);
  await owner.post(`/webhooks/${id}/test`);
  await eventually("the first", () => receiver.received.length === 1);
  await first.stop();

  const log = services.log.child({}, { level: "silent" });
  const worker = startDeliverer({ ...services, egress, log });
  for (let count = 0; count < 4; count++) await owner.post(`/webhooks/${id}/test`);
  await eventually("four failures", () => failures === 4);
  service.clock.advance(16); // the lease: the deadline of 10 s and a margin of 5 s
  await eventually("the same four", () => receiver.received.length === 5);
  await worker.stop();
  await expect(worker.stop()).rejects.toThrow("a deliverer that is stopped cannot become draining");
  await receiver.stop();
});
