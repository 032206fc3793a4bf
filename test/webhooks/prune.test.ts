import { expect, test } from "vitest";
import { pruneEvents } from "../../server/events/prune.ts";
import { sql } from "../../server/store/connection.ts";
import { pruneWebhookDeliveries } from "../../server/webhooks/prune.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";
import { eventually, startReceiver } from "./receiver.ts";

const service = useService({ worker: true, settings: { webhookAllowInsecure: true } });

const inDays = (days: number) => ({
  ...service.services,
  clock: clockOf(() => new Date(Date.now() + days * 86_400_000)),
});

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
  await pruneWebhookDeliveries(inDays(30 - 1 / 1440));
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

test("a failed delivery can be replayed for 90 days after its last attempt, and is then deleted with its event", async () => {
  const { database } = service.services;
  const person = await createPerson(service, { cents: 100_000 });
  const webhook = await person.post("/webhooks", { url: "https://93.184.215.14/hook", events: ["task.disputed"] });
  const task = await postTask(person);
  const ids = await database.query<{ id: string; eventId: string }>(sql`
    WITH event AS (INSERT INTO events (type, task_id, recipients, data, fanned_out_at)
                   SELECT 'task.disputed', ${task.id}::uuid, '{}', '{}', now() FROM generate_series(1, 2) RETURNING id)
    INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, status, attempts_left, failed_at, due_at, created_at)
    -- The second has failed again, after a replay.
    SELECT ${webhook.body.id}::uuid, id, 'task.disputed', 'failed', 0, now() + (n - 1) * interval '5 days', now(),
           now() + n * interval '1 microsecond'
    FROM (SELECT id, row_number() OVER () AS n FROM event) AS numbered RETURNING id, event_id AS "eventId"`);
  const left = async (days: number) => {
    await pruneWebhookDeliveries(inDays(days));
    await pruneEvents(inDays(days));
    const rows = await database.query<{ id: string; eventId: string }>(sql`
      SELECT d.id, e.id AS "eventId" FROM webhook_deliveries d FULL JOIN events e ON e.id = d.event_id
      WHERE e.id = ANY (${ids.map(({ eventId }) => eventId)}::uuid[]) ORDER BY d.id`);
    return rows;
  };
  expect(await left(89.9)).toEqual(ids);
  expect(await left(90.1)).toEqual(ids.slice(1));
  expect(await left(95.1)).toEqual([]);
});
