import { describe, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

/** Follows `nextCursor` to the end and returns the ids in order of arrival. Calls `onPage` after each page. */
async function walk(
  person: TestPerson,
  path: string,
  field: "tasks" | "bids" | "entries",
  limit: number,
  onPage: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await person.get(`${path}?limit=${limit}${cursor === null ? "" : `&cursor=${cursor}`}`);
    expect(page.status).toBe(200);
    const rows: { id: string; createdAt: string }[] = page.body[field];
    expect(rows.map(({ createdAt }) => createdAt)).toEqual(
      rows
        .map(({ createdAt }) => createdAt)
        .sort()
        .reverse(),
    );
    ids.push(...rows.map(({ id }) => id));
    cursor = page.body.nextCursor;
    expect(cursor).toBe(rows.length < limit ? null : rows.at(-1)?.createdAt);
    await onPage();
  } while (cursor !== null);
  return ids;
}

/** Makes `count` calls, at most 24 of them at the same time. */
async function inParallel<Result>(count: number, call: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const client = async () => {
    while (next < count) results.push(await call(next++));
  };
  await Promise.all(Array.from({ length: 24 }, client));
  return results;
}

const sorted = (ids: Iterable<string>) => [...ids].sort();

describe("a walk by cursor", () => {
  test("over 1,000 tasks of parallel clients visits each exactly once while new ones are posted", async () => {
    const buyers = await Promise.all(
      Array.from({ length: 6 }, () => createPerson(service, { cents: 1_000_000, using: "key" })),
    );
    const buyerOf = (index: number) => buyers[index % buyers.length] as TestPerson; // there are six
    const post = async (index: number): Promise<string> =>
      (await postTask(buyerOf(index), { maxBudgetCents: 100 + index })).id;
    const existing = await inParallel(1_000, (index) => post(index % 500));
    const [task] = (await buyerOf(0).get("/tasks?limit=1")).body.tasks;
    expect(task.createdAt).toMatch(/T\d\d:\d\d:\d\d\.\d{6}Z$/);

    let walking = true;
    const posting = inParallel(24, async () => {
      while (walking) await post(0);
    });
    const met = await walk(buyerOf(0), "/tasks", "tasks", 40);
    walking = false;
    await posting;

    expect(new Set(met).size).toBe(met.length);
    const known = new Set(existing);
    expect(sorted(met.filter((id) => known.has(id)))).toEqual(sorted(existing));
  });

  test("over a ledger with many entries of one transaction visits each exactly once", async () => {
    const buyer = await createPerson(service, { cents: 100_000 });
    const task = await postTask(buyer, { maxBudgetCents: 100 });
    await service.services.database.transaction(async (tx) => {
      for (let count = 0; count < 120; count++) {
        tx.ledger.hold(buyer.id, 5, { taskId: task.id });
        tx.ledger.release(buyer.id, 5, { taskId: task.id });
      }
    });
    const entries = await service.services.database.query<{ id: string }>(sql`
      SELECT id FROM ledger_entries WHERE user_id = ${buyer.id}::uuid ORDER BY version DESC`);
    expect(entries).toHaveLength(1 + 2 + 480);
    const ids = entries.map(({ id }) => id);
    for (const limit of [100, 7, 1 + 2 + 480 - 400]) {
      const newer = () => service.services.database.transaction((tx) => tx.ledger.deposit(buyer.id, "topup", 1, ref()));
      const met = await walk(buyer, "/wallet/ledger", "entries", limit, limit === 100 ? newer : undefined);
      expect(met.filter((id) => ids.includes(id))).toEqual(ids);
    }
    await expectBooksToBalance(service);
  });

  test("over a task's bids and over one's own bids visits each exactly once", async () => {
    const buyer = await createPerson(service, { cents: 1_000_000 });
    const bidders = await Promise.all(Array.from({ length: 12 }, () => createPerson(service, { using: "key" })));
    const task = await postTask(buyer);
    const placed = await Promise.all(
      bidders.map(async (bidder) => {
        const ids: string[] = [];
        for (let count = 0; count < 10; count++) {
          const { id } = await placeBid(bidder, task.id);
          ids.push(id);
          await bidder.post(`/bids/${id}/withdraw`);
        }
        return ids;
      }),
    );
    const met = await walk(buyer, `/tasks/${task.id}/bids`, "bids", 7, () => bidOnAnother(bidders[0]));
    expect(sorted(met)).toEqual(sorted(placed.flat()));

    async function bidOnAnother(bidder: TestPerson | undefined) {
      const { id } = await postTask(buyer);
      if (bidder) await placeBid(bidder, id);
    }
    const own = await walk(bidders[1] as TestPerson, "/bids", "bids", 3, () => bidOnAnother(bidders[1]));
    expect(own.filter((id) => placed[1]?.includes(id))).toEqual(placed[1]?.toReversed());
  });
});

const ref = () => `test ${crypto.randomUUID()}`;

describe.each(["tasks", "bids"])("two rows of %s that would get the same timestamp", (table) => {
  test("get different ones, because the second transaction runs again", async () => {
    const [buyer, bidder] = await Promise.all([
      createPerson(service, { cents: 100_000 }),
      createPerson(service, { cents: 0 }),
    ]);
    const task = await postTask(buyer);
    await placeBid(bidder, task.id);
    const other = await createPerson(service);
    const { pool } = service.owner;
    // The next three rows get a timestamp that is taken. A rollback does not reset a sequence, so the fourth succeeds.
    await pool.query(`
      CREATE SEQUENCE ${table}_written;
      CREATE FUNCTION ${table}_tie() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF nextval('${table}_written') <= 3 THEN NEW.created_at := (SELECT max(created_at) FROM ${table}); END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER ${table}_tie BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_tie()`);
    const answer =
      table === "tasks"
        ? await rest(service.url, "POST", "/tasks", { body: taskInput(), credentials: buyer.key })
        : await other.post(`/tasks/${task.id}/bids`, { priceCents: 100, etaHours: 1 });
    expect(answer.status).toBe(201);
    const { rows } = await pool.query(`SELECT last_value::int AS attempts FROM ${table}_written`);
    expect(rows).toEqual([{ attempts: 4 }]);
    await pool.query(`DROP TRIGGER ${table}_tie ON ${table}`);
    const { rows: ties } = await pool.query(`SELECT created_at FROM ${table} GROUP BY 1 HAVING count(*) > 1`);
    expect(ties).toEqual([]);
    await expectBooksToBalance(service);
  });
});
