import pg from "pg";
import { expect, test, vi } from "vitest";
import { lockBid } from "../../server/market/tasks/lockBid.ts";
import { inOrder, sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { awardedTask, placeBid, postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("a transaction fails if the error of one of its statements was caught, because nothing of it is committed", async () => {
  const { database } = service.services;
  const work = database.transaction(async (tx) => {
    await tx.query(sql`SELECT 1 / 0`).catch(() => {});
    return "done";
  });
  await expect(work).rejects.toThrow("nothing was committed");
  expect(await database.query(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
});

test("what a change writes belongs to one transaction: state, money, events and jobs", async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  const { task } = await awardedTask(buyer, await createPerson(service));
  const transactionsOf = async (rows: ReturnType<typeof sql>) => {
    const found = await service.services.database.query<{ xmin: string }>(rows);
    return found.map(({ xmin }) => xmin);
  };
  const [awarded] = await transactionsOf(sql`SELECT xmin::text FROM tasks WHERE id = ${task.id}::uuid`);
  const written = [
    sql`SELECT xmin::text FROM ledger_transfers WHERE task_id = ${task.id}::uuid ORDER BY id DESC LIMIT 1`,
    sql`SELECT xmin::text FROM events WHERE task_id = ${task.id}::uuid AND type = 'task.awarded'`,
    sql`SELECT xmin::text FROM graphile_worker._private_jobs WHERE payload::jsonb = ${JSON.stringify({ taskId: task.id })}::jsonb`,
  ];
  for (const rows of written) expect(await transactionsOf(rows)).toEqual([awarded]);
});

test("a change whose event or job cannot be written is not made", async () => {
  const { database } = service.services;
  const { id: userId } = await createPerson(service);
  const closed = {
    task: (await awardedTask(await createPerson(service, { cents: 10_000 }), await createPerson(service))).task,
  };
  const change = database.transaction(async (tx) => {
    await tx.query(sql`UPDATE users SET display_name = 'Changed' WHERE id = ${userId}::uuid`);
    tx.events.record("task.updated", closed, ["not the id of a user"]);
  });
  await expect(change).rejects.toThrow("invalid input syntax for type uuid");
  expect(await database.query(sql`SELECT FROM users WHERE display_name = 'Changed'`)).toEqual([]);
});

test("statements in order run in that order; the first failure is thrown, and nothing lasts", async () => {
  const { database } = service.services;
  const { id: userId } = await createPerson(service);
  const rename = (name: string) => sql`UPDATE users SET display_name = ${name} WHERE id = ${userId}::uuid`;
  const readName = sql`SELECT display_name AS name FROM users WHERE id = ${userId}::uuid`;
  // Nothing overtakes a statement that waits for BEGIN.
  const named = database.transaction(async (tx) => {
    const [, between] = await inOrder(
      () => tx.query(rename("First")),
      () => tx.query(readName, { withBegin: true }),
      () => tx.query(rename("Second")),
    );
    return between;
  });
  expect(await named).toEqual([{ name: "First" }]);
  expect(await database.query(readName)).toEqual([{ name: "Second" }]);

  const failed = database.transaction((tx) =>
    inOrder(
      () => tx.query(rename("Third")),
      () => tx.query(sql`SELECT 1 / 0`),
      () => tx.query(rename("Fourth")),
    ),
  );
  await expect(failed).rejects.toThrow("division by zero");
  expect(await database.query(readName)).toEqual([{ name: "Second" }]);
});

test("what a part of the work asks for after another part has failed is refused, and does not last", async () => {
  const { database } = service.services;
  const { id: userId } = await createPerson(service);
  const failed = Promise.withResolvers<void>();
  let late: Promise<unknown> = Promise.resolve();
  const work = database.transaction((tx) => {
    late = failed.promise.then(() => tx.query(sql`UPDATE users SET display_name = 'Late' WHERE id = ${userId}::uuid`));
    return Promise.all([tx.query(sql`SELECT 1 / 0`), late]);
  });
  await expect(work).rejects.toThrow("division by zero");
  failed.resolve();
  await expect(late).rejects.toThrow("the transaction has ended");
  expect(await database.query(sql`SELECT FROM users WHERE display_name = 'Late'`)).toEqual([]);
});

test("a bid is read as the last one who had its task locked left it", async () => {
  const { database } = service.services;
  const task = await postTask(await createPerson(service, { cents: 10_000 }));
  const { id: bidId } = await placeBid(await createPerson(service), task.id, { priceCents: 8_000 });
  const locked = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  const first = database.transaction(async (tx) => {
    await lockBid(tx, bidId);
    locked.resolve();
    await changed.promise;
    await tx.query(sql`UPDATE bids SET price_cents = 7_000 WHERE id = ${bidId}::uuid`);
  });
  await locked.promise;
  const second = database.transaction(async (tx) => (await lockBid(tx, bidId)).bid.priceCents);
  const waiting = sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(() => database.query(waiting)).toHaveLength(1);
  changed.resolve();
  await first;
  expect(await second).toBe(7_000);
});

test("without a transaction, nothing is written: BEGIN goes out together with a lock at most", async () => {
  const { database } = service.services;
  const { id: userId } = await createPerson(service);
  const query = pg.Client.prototype.query;
  const failing = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...args) {
    if (args[0] === "BEGIN") return Promise.reject(new Error("BEGIN failed"));
    return Reflect.apply(query, this, args);
  });
  const change = database.transaction(async (tx) => {
    await tx.query(sql`SELECT FROM users WHERE id = ${userId}::uuid FOR SHARE`, { withBegin: true });
    await tx.query(sql`UPDATE users SET display_name = 'Alone' WHERE id = ${userId}::uuid`);
  });
  await expect(change).rejects.toThrow("BEGIN failed");
  failing.mockRestore();
  expect(await database.query(sql`SELECT FROM users WHERE display_name = 'Alone'`)).toEqual([]);
});
