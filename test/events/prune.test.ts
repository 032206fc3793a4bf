import { expect, test } from "vitest";
import { pruneEvents } from "../../server/events/prune.ts";
import { sql } from "../../server/store/connection.ts";
import { pruneWebhookDeliveries } from "../../server/webhooks/prune.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const inDays = (days: number) => ({
  ...service.services,
  clock: clockOf(() => new Date(Date.now() + days * 86_400_000)),
});

test("the log keeps 30 days; an event stays while a delivery refers to it, and a failed one until its endpoint is deleted", async () => {
  const { database } = service.services;
  const ada = await createPerson(service, { cents: 100_000 });
  const webhook = await ada.post("/webhooks", { url: "https://93.184.215.14/hook", events: ["task.created"] });
  const start = (await ada.get("/events?after=latest")).body.nextCursor;
  for (let task = 0; task < 3; task++) await postTask(ada);
  const page = (await ada.get("/events?limit=1")).body;
  const end = (await ada.get("/events?after=latest")).body.nextCursor;
  await database.query(sql`
    INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, status, attempts_left, failed_at, due_at, created_at)
    SELECT ${webhook.body.id}::uuid, ${page.events[0].id}::uuid, 'task.created', status, 0,
           CASE status WHEN 'failed' THEN now() END, now(), now() + n * interval '1 second'
    FROM unnest(ARRAY['failed', 'succeeded']) WITH ORDINALITY AS row (status, n)`);
  await database.query(sql`UPDATE events SET fanned_out_at = now()`);
  const prune = async (days: number) => {
    await pruneWebhookDeliveries(inDays(days));
    await pruneEvents(inDays(days));
    const [row] = await database.query<object>(sql`
      SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM event_log) AS log,
             (SELECT count(*) FROM webhook_deliveries) AS deliveries`);
    return row;
  };
  expect(await prune(29.9)).toEqual({ events: 3, log: 3, deliveries: 2 });
  // The last of the old ones stays: cursors name it until the next one.
  expect(await prune(30.1)).toEqual({ events: 2, log: 1, deliveries: 1 });
  for (const expired of [start, page.nextCursor]) {
    const answer = await ada.get(`/events?after=${expired}`);
    expect([answer.status, answer.body.error]).toEqual([410, "cursor_expired"]);
  }
  expect((await ada.get(`/events?after=${end}`)).body).toEqual({ events: [], nextCursor: expect.any(String) });
  await postTask(ada);
  expect((await ada.get(`/events?after=${end}`)).body.events).toHaveLength(1);

  await ada.delete(`/webhooks/${webhook.body.id}`);
  await database.query(sql`UPDATE events SET fanned_out_at = now()`);
  expect(await prune(30.2)).toMatchObject({ deliveries: 0 });
});
