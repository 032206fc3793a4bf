import { expect, test } from "vitest";
import { advanceLog } from "../../server/events/log.ts";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("a page ends with a cursor, and the next one goes on behind it", async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  const bidder = await createPerson(service);
  const start = (await buyer.get("/events?after=latest")).body;
  expect(start).toEqual({ events: [], nextCursor: expect.any(String) });
  const task = await postTask(buyer);
  const bid = await placeBid(bidder, task.id);
  await bidder.post(`/bids/${bid.id}/withdraw`);

  const first = await buyer.get(`/events?after=${start.nextCursor}&limit=2`);
  expect(first.status, first.text).toBe(200);
  expect(first.body.events.map(({ type }: { type: string }) => type)).toEqual(["task.created", "bid.received"]);
  const second = await buyer.get(`/events?after=${first.body.nextCursor}&limit=2`);
  expect(second.body.events.map(({ type }: { type: string }) => type)).toEqual(["bid.withdrawn"]);
  const third = await buyer.get(`/events?after=${second.body.nextCursor}`);
  expect(third.body).toEqual({ events: [], nextCursor: expect.any(String) });
  const waiting = buyer.get(`/events?after=${third.body.nextCursor}&wait=20`);
  const later = await postTask(bidder, { maxBudgetCents: 1 }).catch(() => postTask(buyer));
  const answer = await waiting;
  expect(answer.body.events.map(({ data }: { data: { task: { id: string } } }) => data.task.id)).toEqual([later.id]);
});

test("a reader waits for the events that are being numbered, but numbers none that came after it", async () => {
  const { database } = service.services;
  const buyer = await createPerson(service, { cents: 100_000 });
  let read = Promise.resolve<Awaited<ReturnType<typeof buyer.get>> | null>(null);
  let later = { id: "" };
  await database.transaction(async (tx) => {
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('event_log', 0))`);
    await postTask(buyer);
    await advanceLog(tx);
    let hasEnded = false;
    read = buyer.get("/events?after=latest").finally(() => {
      hasEnded = true;
    });
    const waiting = () =>
      database.query(sql`
        SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`);
    await expect.poll(async () => hasEnded || (await waiting()).length > 0).toBe(true);
    later = await postTask(buyer);
  });
  const { nextCursor } = (await read)?.body ?? {};
  const { events } = (await buyer.get(`/events?after=${nextCursor}`)).body;
  expect(events.map(({ data }: { data: { task: { id: string } } }) => data.task.id)).toEqual([later.id]);
});
