import { expect, test } from "vitest";
import { advanceLog } from "../../server/events/log.ts";
import { type Connection, sql } from "../../server/store/connection.ts";
import type { Transaction } from "../../server/store/database.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { openStream } from "../setup/eventStream.ts";
import { useService } from "../setup/testService.ts";

// What a failover or a restore does to the log, made by hand: its end is gone, and what comes next takes the same positions.
// `npm run check:failover` has real ones.
const service = useService();

/** Cuts the log behind this position, as a standby has it that had received no more. */
async function cut(connection: Connection, position: number): Promise<void> {
  await connection.query(sql`DELETE FROM event_log_entries WHERE position > ${position}`);
  await connection.query(sql`DELETE FROM event_log WHERE position > ${position}`);
  await connection.query(sql`
    UPDATE event_log_state
       SET last_position = ${position}, last_event_id = (SELECT event_id FROM event_log WHERE position = ${position})`);
}

const { stringify } = JSON;
const latest = async (person: TestPerson): Promise<string> =>
  (await person.get("/events?after=latest")).body.nextCursor;
const positionOf = (cursor: string) => service.services.eventCursors.decrypt(cursor).position;
const read = (person: TestPerson, cursor: string, query = "") => person.get(`/events?after=${cursor}${query}`);
const waiting = (count: number) => expect.poll(() => service.services.eventFollower.seatCount).toBe(count);

/** Loses what follows a position, and lets other things happen instead, in one step for everybody who looks. */
async function replace(position: number, work: (tx: Transaction) => Promise<unknown>): Promise<void> {
  await service.owner.transaction(async (tx) => {
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('event_log', 0))`);
    await cut(tx, position);
    await work(tx);
  });
}

test("a cursor of the empty log goes on, whatever became of the events behind it", async () => {
  const ada = await createPerson(service, { cents: 100_000 });
  const empty = await latest(ada);
  expect(positionOf(empty)).toBe(0);
  await postTask(ada);
  const lost = await latest(ada);
  await cut(service.owner, 0);
  const again = await read(ada, empty);
  expect([again.status, again.body.events]).toEqual([200, []]);
  const task = await postTask(ada);
  expect((await read(ada, empty)).body.events).toMatchObject([{ data: { task: { id: task.id } } }]);
  expect((await read(ada, lost)).body.error).toBe("cursor_expired");
});

test("a cursor goes on wherever its event stands at its position, also one that is nobody's business; one of the lost end is 410", async () => {
  const [ada, bo] = await Promise.all([createPerson(service, { cents: 100_000 }), createPerson(service)]);
  const task = await postTask(ada);
  const own = await latest(ada);
  // An event that concerns neither of them.
  await service.services.database.transaction(async (tx) =>
    tx.events.record("task.updated", { task }, [crypto.randomUUID()]),
  );
  const others = await latest(ada);
  expect(positionOf(others)).toBe(positionOf(own) + 1);
  const lostTasks = [await postTask(ada), await postTask(ada)];
  const end = await latest(bo);
  const page = (await read(ada, own, "&limit=1")).body.nextCursor;
  expect([positionOf(page), positionOf(end)]).toEqual([positionOf(own) + 2, positionOf(own) + 3]);

  await cut(service.owner, positionOf(others));
  // While the log is shorter than the cursor, as long as it is, and longer.
  const kept: string[] = [];
  for (let round = 0; round < 4; round++) {
    for (const lost of [page, end]) {
      for (const path of [`/events?after=${lost}`, `/events?after=${lost}&wait=30`, `/events/stream?after=${lost}`]) {
        const answer = await bo.get(path);
        expect([answer.status, answer.body.error]).toEqual([410, "cursor_expired"]);
      }
    }
    for (const cursor of [own, others]) {
      const { body } = await read(ada, cursor);
      expect(body.events.map(({ data }: { data: { task: { id: string } } }) => data.task.id)).toEqual(kept);
    }
    kept.push((await postTask(ada)).id);
  }
  expect(kept).not.toContain(lostTasks[0]?.id);
});

test("who waits and who streams notice that the end was lost, even if others have taken its positions between two looks", async () => {
  const [ada, bo] = await Promise.all([createPerson(service, { cents: 100_000 }), createPerson(service)]);
  const task = await postTask(ada);
  for (const newEvents of [1, 3]) {
    const start = await latest(ada);
    const position = positionOf(start);
    const lost = async () => {
      // Concerns nobody who waits, so that they go on waiting behind it.
      await service.services.database.transaction(async (tx) =>
        tx.events.record("task.updated", { task }, [crypto.randomUUID()]),
      );
      return latest(bo);
    };
    const end = await lost();
    const held = read(ada, start, "&wait=30");
    const inTail = read(ada, end, "&wait=30");
    const stream = await openStream(service.url, `/events/stream?after=${start}`, ada.key);
    const told = await stream.next();
    const streamAtStart = await openStream(service.url, "/events/stream", { ...ada.key, "last-event-id": end });
    await streamAtStart.next();
    await waiting(4);
    let taskId = "";
    await replace(position, async (tx) => {
      taskId = crypto.randomUUID();
      const changed = stringify({ task: { ...task, id: taskId } });
      for (let event = 0; event < newEvents; event++) {
        await tx.query(sql`
          WITH recorded AS (
            INSERT INTO events (type, recipients, data, fanned_out_at)
            VALUES ('task.updated', ${event === 0 ? `{${ada.id}}` : "{}"}::uuid[], ${changed}::json, now()) RETURNING id)
          INSERT INTO event_log_queue (event_id) SELECT id FROM recorded`);
      }
      await advanceLog(tx);
    });
    // Its own cursor is from before the loss, so it gets what came instead, and misses nothing.
    expect((await held).body.events).toMatchObject([{ data: { task: { id: taskId } } }]);
    const answer = await inTail;
    expect([answer.status, answer.body.error]).toEqual([410, "cursor_expired"]);
    // A stream ends. What its client was told last decides how it goes on.
    expect(await stream.next()).toBeNull();
    expect(await streamAtStart.next()).toBeNull();
    expect(positionOf(told?.id ?? "")).toBe(position + 1);
    await waiting(0);
  }
});

test("events that had positions before a failover and are numbered once more are in the way of no cursor, however many they are", async () => {
  const ada = await createPerson(service, { cents: 100_000 });
  const start = await latest(ada);
  const position = positionOf(start);
  await service.owner.query(sql`
    WITH recorded AS (
      INSERT INTO events (type, recipients, data, fanned_out_at)
      SELECT 'task.updated', ${`{${ada.id}}`}::uuid[], '{}'::json, now() FROM generate_series(1, 2500) RETURNING id)
    INSERT INTO event_log_queue (event_id) SELECT id FROM recorded ORDER BY id`);
  for (let round = 0; round < 3; round++) await advanceLog(service.owner);
  const end = await latest(ada);
  expect(positionOf(end)).toBe(position + 2_500);
  await replace(position, (tx) =>
    tx.query(sql`INSERT INTO event_log_queue (event_id) SELECT id FROM events WHERE data::text = '{}' ORDER BY id`),
  );
  expect((await read(ada, end)).body).toEqual({ events: [], nextCursor: expect.any(String) });
});
