import pg from "pg";
import { expect, test, vi } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { awardedTask } from "../factories/tasks.ts";
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

test("without a transaction, nothing is written: BEGIN goes out together with a lock at most", async () => {
  const { database } = service.services;
  const { id: userId } = await createPerson(service);
  const query = pg.Client.prototype.query;
  const failing = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...args) {
    if (args[0] === "BEGIN") return Promise.reject(new Error("BEGIN failed"));
    return Reflect.apply(query, this, args);
  });
  const change = database.transaction(async (tx) => {
    await tx.query(sql`SELECT FROM users WHERE id = ${userId}::uuid FOR SHARE`, { changesNothing: true });
    await tx.query(sql`UPDATE users SET display_name = 'Alone' WHERE id = ${userId}::uuid`);
  });
  await expect(change).rejects.toThrow("BEGIN failed");
  failing.mockRestore();
  expect(await database.query(sql`SELECT FROM users WHERE display_name = 'Alone'`)).toEqual([]);
});
