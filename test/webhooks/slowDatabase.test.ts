import { expect, test } from "vitest";
import type { Database } from "../../server/store/database.ts";
import { startDeliverer } from "../../server/webhooks/deliverer.ts";
import { createPerson } from "../factories/people.ts";
import { useService } from "../setup/testService.ts";
import { eventually, startReceiver } from "./receiver.ts";

const service = useService({ settings: { webhookAllowInsecure: true } });

test("a delivery sent twice because the database was unreachable for longer than the lease keeps both attempts, and the better one counts", async () => {
  const { database } = service.services;
  let isUnreachable = true;
  const transaction: Database["transaction"] = (work) =>
    isUnreachable ? Promise.reject(new Error("Connection terminated")) : database.transaction(work);
  const receiver = await startReceiver((_request, count) => (count === 1 ? 503 : 200));
  const owner = await createPerson(service);
  const { id } = (await owner.post("/webhooks", { url: receiver.url, events: ["task.created"] })).body;
  const worker = startDeliverer({ ...service.services, database: { ...database, transaction } });
  await owner.post(`/webhooks/${id}/test`);
  await eventually("the first attempt", () => receiver.received.length === 1);
  service.clock.advance(16); // the lease: the deadline of 10 s and a margin of 5 s
  await eventually("the second", () => receiver.received.length === 2);

  isUnreachable = false;

  const delivery = await eventually("its outcome", async () => {
    const [newest] = (await owner.get(`/webhooks/${id}/deliveries`)).body.deliveries;
    return newest.status !== "pending" && newest;
  });
  expect(delivery).toMatchObject({ status: "succeeded", attempts: [{ statusCode: 503 }, { statusCode: 200 }] });
  await worker.stop();
  await receiver.stop();
});
