import { expect, test } from "vitest";
import { pruneWebhookDeliveries } from "../../server/webhooks/prune.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";
import { eventually, startReceiver } from "./receiver.ts";

const service = useService({ worker: true, settings: { webhookAllowInsecure: true } });

test("the hourly job deletes deliveries older than 30 days, except pending ones, and keeps the events", async () => {
  const { database } = service.services;
  const receiver = await startReceiver(({ event }) => (event.data.task.title === "Fails for now" ? 503 : 200));
  const person = await createPerson(service, { cents: 100_000 });
  await person.post("/webhooks", { url: receiver.url, events: ["task.created"] });
  const statuses = async () => (await database.prisma.webhookDelivery.findMany()).map(({ status }) => status).sort();
  await postTask(person);
  await postTask(person, { title: "Fails for now" });
  await eventually("both attempts", () => receiver.received.length === 2);
  await eventually("their records", async () => (await statuses()).join() === "pending,succeeded");
  await receiver.stop();

  // A minute before the 30 days are over, nothing is deleted.
  const later = (seconds: number) => ({
    ...service.services,
    clock: clockOf(() => new Date(Date.now() + seconds * 1000)),
  });
  await pruneWebhookDeliveries(later(30 * 86_400 - 60));
  expect(await statuses()).toEqual(["pending", "succeeded"]);

  service.clock.advance(30 * 86_400 + 60);
  // The payload that graphile-worker's crontab sends.
  const cron = JSON.stringify({ _cron: { ts: new Date().toISOString(), backfilled: false } });
  await database.pool.query("SELECT graphile_worker.add_job('pruneWebhookDeliveries', $1::json)", [cron]);
  await eventually("the pruning", async () => !(await statuses()).includes("succeeded"));

  expect(await statuses()).toHaveLength(1);
  expect(await database.prisma.event.count()).toBe(2);
  const { rows } = await database.pool.query("SELECT identifier FROM graphile_worker._private_known_crontabs");
  expect(rows).toContainEqual({ identifier: "pruneWebhookDeliveries" });
});
