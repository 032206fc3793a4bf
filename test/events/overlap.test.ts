import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { LogPosition } from "../../server/events/cursor.ts";
import { advanceLog, readLog } from "../../server/events/log.ts";
import { startSequencer } from "../../server/events/sequencer.ts";
import { sql } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { newEvent, recordEvents } from "../../server/store/outbox.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const TRANSACTIONS = 400;

/** Reads the log of a user at full speed until it has `count` events. */
async function follow(database: Database, userId: string, start: LogPosition, count: () => number): Promise<string[]> {
  const seen: string[] = [];
  let after = start;
  while (seen.length < count()) {
    const { events, next } = await readLog(database, { userId, keyId: null, types: null }, { after, limit: 7 });
    seen.push(...events.map(({ eventId }) => eventId));
    after = next;
  }
  return seen;
}

test("overlapping, slow and aborted transactions: nobody who follows skips, repeats or reorders an event", async () => {
  const { database } = service.services;
  const [ada, bo] = [await createPerson(service, { cents: 100_000 }), await createPerson(service)];
  const task = await postTask(ada);
  const other = openDatabase(service.databaseUrl, { poolSize: 12 });
  const start = await advanceLog(database);
  const sequencers = [startSequencer(service.services), startSequencer({ ...service.services, database: other })];
  let committed = Number.POSITIVE_INFINITY;
  const readers = [ada, bo, ada, bo].map(({ id }, index) =>
    follow(index < 2 ? database : other, id, start, () => committed),
  );

  /** The events of each committed transaction, in the order in which it recorded them. */
  const recorded: string[][] = [];
  let number = 0;
  const write = async () => {
    while (number < TRANSACTIONS) {
      const own = ++number;
      const pool = own % 2 === 0 ? database : other;
      await pool
        .transaction(async (tx) => {
          for (let event = 0; event <= own % 3; event++) {
            // At once, and not with the commit: so that transactions overlap for longer than they do in the service.
            await recordEvents(
              tx,
              [newEvent("task.updated", { task }, event === 1 ? "everyone" : [ada.id, bo.id])],
              null,
            );
            if (own % 10 === 0) await sleep(Math.random() * 100);
          }
          if (own % 7 === 0) throw new Error("aborted");
          const rows = await tx.query<{ id: string }>(sql`
            SELECT e.id FROM events e JOIN event_log_queue q ON q.event_id = e.id
            WHERE e.xmin::text = pg_current_xact_id()::xid::text ORDER BY q.id`);
          recorded.push(rows.map(({ id }) => id));
        })
        .catch((error: Error) => expect(error.message).toBe("aborted"));
    }
  };
  await Promise.all(Array.from({ length: 16 }, write));
  committed = recorded.flat().length;
  const seen = await Promise.all(readers);
  await Promise.all(sequencers.map(({ stop }) => stop()));
  await other.close();

  const order = seen[0] ?? [];
  for (const events of seen) expect(events).toEqual(order);
  expect(order.length).toBe(committed);
  expect(new Set(order)).toEqual(new Set(recorded.flat()));
  const placeInOrder = new Map(order.map((id, index) => [id, index]));
  for (const own of recorded) {
    const places = own.map((id) => placeInOrder.get(id) ?? -1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  }
  const [gaps] = await database.query<{ rows: number; last: number }>(sql`
    SELECT count(*) AS rows, max(position) AS last FROM event_log`);
  expect(gaps?.rows).toBe(gaps?.last);
  expect(await database.query(sql`SELECT FROM event_log_queue`)).toEqual([]);
});
