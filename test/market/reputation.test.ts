import { expect, test } from "vitest";
import { reputationDifferences } from "../../server/market/reputation.ts";
import { type Connection, sql } from "../../server/store/connection.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, disputedTask, placeBid, postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

const checkReputation = (connection: Connection) =>
  connection.query<{ userId: string; kept: unknown; fromSource: unknown }>(reputationDifferences);
const rebuildReputation = (connection: Connection) => connection.query(sql`SELECT reputation_rebuild()`);

const reputationOf = async (person: TestPerson) =>
  (await rest(service.url, "GET", `/users/${person.id}/reputation`)).body;

test("a reputation is public, but for the name, null on the sides without activity, and 404 for an unknown user", async () => {
  const person = await createPerson(service);
  expect(await reputationOf(person)).toEqual({ userId: person.id, buyer: null, bidder: null });
  const other = await createPerson(service);
  expect((await other.get(`/users/${person.id}/reputation`)).body).toEqual({
    ...{ userId: person.id, buyer: null, bidder: null },
    displayName: person.displayName,
  });
  for (const id of [crypto.randomUUID(), "nobody"]) {
    const answer = await rest(service.url, "GET", `/users/${id}/reputation`);
    expect([answer.status, answer.body.error]).toEqual([404, "not_found"]);
  }
});

test("every number is correct immediately after the change that it counts", async () => {
  const buyer = await createPerson(service, { cents: 1_000_000 });
  const bidder = await createPerson(service);
  const moderator = await createModerator(service);

  const open = await postTask(buyer);
  expect((await reputationOf(buyer)).buyer).toEqual({
    tasksPosted: 1,
    tasksAwarded: 0,
    tasksAccepted: 0,
    tasksCancelled: 0,
    tasksEndedByAgreement: 0,
    medianDecisionHours: null,
    disputes: 0,
    disputesLost: 0,
    ratingCount: 0,
    ratingAverage: null,
  });
  await buyer.post(`/tasks/${open.id}/cancel`);
  expect((await reputationOf(buyer)).buyer).toMatchObject({ tasksPosted: 1, tasksCancelled: 1 });

  const toDecide = await postTask(buyer);
  const bid = await placeBid(bidder, toDecide.id);
  expect((await reputationOf(bidder)).bidder).toBeNull();
  service.clock.advance(3_600 * 6);
  await buyer.post(`/tasks/${toDecide.id}/award`, { bidId: bid.id });
  expect((await reputationOf(buyer)).buyer).toMatchObject({
    tasksAwarded: 1,
    medianDecisionHours: expect.closeTo(6, 2),
  });
  expect((await reputationOf(bidder)).bidder).toEqual({
    tasksAwarded: 1,
    tasksDelivered: 0,
    tasksAccepted: 0,
    tasksExpired: 0,
    tasksGivenBack: 0,
    tasksEndedByAgreement: 0,
    onTimeRate: null,
    disputes: 0,
    disputesLost: 0,
    ratingCount: 0,
    ratingAverage: null,
  });

  for (const stars of [5, 4, 4]) {
    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    await buyer.post(`/tasks/${task.id}/rate`, { stars });
    await bidder.post(`/tasks/${task.id}/rate`, { stars: 2 });
  }
  for (const resolution of ["refund", "release", "split"]) {
    const { dispute } = await disputedTask(buyer, bidder);
    const share = resolution === "split" ? { bidderCents: 5 } : {};
    await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution, ...share });
  }
  expect(await reputationOf(buyer)).toEqual({
    userId: buyer.id,
    buyer: {
      tasksPosted: 8,
      tasksAwarded: 7,
      tasksAccepted: 3,
      tasksCancelled: 1,
      tasksEndedByAgreement: 0,
      medianDecisionHours: expect.closeTo(6, 2),
      disputes: 3,
      disputesLost: 1,
      ratingCount: 3,
      ratingAverage: 2,
    },
    bidder: null,
  });
  expect((await reputationOf(bidder)).bidder).toEqual({
    tasksAwarded: 7,
    tasksDelivered: 6,
    tasksAccepted: 3,
    tasksExpired: 0,
    tasksGivenBack: 0,
    tasksEndedByAgreement: 0,
    onTimeRate: 1,
    disputes: 3,
    disputesLost: 1,
    ratingCount: 3,
    ratingAverage: 4.33,
  });
  expect(await checkReputation(service.services.database)).toEqual([]);
});

test("the stored median of decision times is exact after each award, in whatever order the times come", async () => {
  const buyer = await createPerson(service, { cents: 10_000_000 });
  const bidder = await createPerson(service);
  const hours: number[] = [];
  for (const decisionHours of [5, 9, 1, 1, 7, 3, 3, 8, 2, 6, 4, 9]) {
    const task = await postTask(buyer, { maxBudgetCents: 100 });
    const bid = await placeBid(bidder, task.id, { priceCents: 100 });
    const ahead = (
      await service.services.database.query<{ seconds: number }>(sql`
      SELECT extract(epoch FROM ${service.clock.now().toISOString()}::timestamptz - created_at)::float8 AS seconds
      FROM tasks WHERE id = ${task.id}::uuid`)
    )[0]?.seconds;
    service.clock.advance(decisionHours * 3_600 - (ahead ?? 0));
    await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
    hours.push(decisionHours);
    const sorted = hours.toSorted((a, b) => a - b);
    const at = (place: number) => sorted[place] ?? Number.NaN;
    const median = (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2;
    expect((await reputationOf(buyer)).buyer.medianDecisionHours).toBeCloseTo(median, 2);
    expect(await checkReputation(service.services.database)).toEqual([]);
  }
});

test("awards, posts and ratings of the same two users at once lose no count and do not deadlock", async () => {
  const one = await createPerson(service, { cents: 1_000_000 });
  const other = await createPerson(service, { cents: 1_000_000 });
  const pairs = Array.from({ length: 16 }, (_, index) =>
    index % 2 ? { buyer: one, bidder: other } : { buyer: other, bidder: one },
  );
  const finished = await Promise.all(
    pairs.map(async ({ buyer, bidder }) => {
      const { task } = await deliveredTask(buyer, bidder, { maxBudgetCents: 1_000, priceCents: 900 });
      await buyer.post(`/tasks/${task.id}/accept`);
      const rated = await Promise.all([
        buyer.post(`/tasks/${task.id}/rate`, { stars: 4 }),
        bidder.post(`/tasks/${task.id}/rate`, { stars: 4 }),
      ]);
      return rated.map(({ status }) => status);
    }),
  );
  expect(finished.flat()).toEqual(Array(32).fill(201));
  expect((await reputationOf(one)).buyer).toMatchObject({ tasksPosted: 8, tasksAccepted: 8, ratingCount: 8 });
  expect(await checkReputation(service.services.database)).toEqual([]);
});

test("the check finds a wrong counter, a missing row and a surplus one, and a rebuild repairs them", async () => {
  const { database } = service.services;
  const [wrong, missing, extra] = await Promise.all([1, 2, 3].map(() => createPerson(service, { cents: 1_000_000 })));
  const bidder = await createPerson(service);
  if (!wrong || !missing || !extra) throw new Error("three people were signed up");
  await awardedTask(wrong, bidder);
  await awardedTask(missing, bidder);
  await database.query(sql`UPDATE reputations SET buyer_tasks_posted = 7 WHERE user_id = ${wrong.id}::uuid`);
  await database.query(sql`DELETE FROM reputations WHERE user_id = ${missing.id}::uuid`);
  await database.query(sql`INSERT INTO reputations (user_id, bidder_disputes) VALUES (${extra.id}::uuid, 1)`);
  const differences = await checkReputation(database);
  expect(differences.map(({ userId }) => userId).toSorted()).toEqual([wrong.id, missing.id, extra.id].toSorted());
  expect(differences.find(({ userId }) => userId === wrong.id)).toMatchObject({
    kept: { buyer_tasks_posted: 7 },
    fromSource: { buyer_tasks_posted: 1 },
  });
  await rebuildReputation(database);
  expect(await checkReputation(database)).toEqual([]);
});

test("reading costs the same after 10,000 tasks as after ten: the same rows and pages of the same indexes", async () => {
  const database = service.owner;
  const [few, many] = await Promise.all([createPerson(service), createPerson(service)]);
  const bidder = await createPerson(service);
  // The search's indexes would take most of the time of the import, and have no part in reading a reputation.
  await database.query(sql`DROP INDEX tasks_search_idx, tasks_search_sample_idx`);
  for (const [buyer, count] of [
    [few, 10],
    [many, 10_000],
  ] as const) {
    await database.transaction(async (tx) => {
      // An import: each task comes with a bid that it is awarded to. The reference between the two is made afterwards.
      await tx.query(sql`
        INSERT INTO tasks (id, buyer_id, title, description, max_budget_cents, tags, created_at)
        SELECT uuid_v7(), ${buyer.id}::uuid, 'Imported', '-', 100, '{}', '2020-01-01'::timestamptz
               + make_interval(secs => ${count} + n / 1000.0) FROM generate_series(1, ${count}::int) n`);
      // Without triggers: neither the references nor the counters of each single row are the subject here.
      await tx.query(sql`SET LOCAL session_replication_role = replica`);
      await tx.query(sql`
        INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, status, created_at)
        SELECT id, ${bidder.id}::uuid, 100, 1, 'awarded', created_at FROM tasks WHERE buyer_id = ${buyer.id}::uuid`);
      await tx.query(sql`
        UPDATE tasks t SET status = 'awarded', awarded_bid_id = b.id, awarded_bidder_id = b.bidder_id,
               awarded_at = t.created_at + make_interval(secs => (hashtext(t.id::text) & 1048575)),
               delivery_due_at = 'infinity'
        FROM bids b WHERE b.task_id = t.id AND t.buyer_id = ${buyer.id}::uuid`);
      await tx.query(sql`SET LOCAL session_replication_role = DEFAULT`);
      await rebuildReputation(tx);
    });
  }
  expect((await reputationOf(many)).buyer).toMatchObject({ tasksPosted: 10_000, tasksAwarded: 10_000 });
  expect(await checkReputation(database)).toEqual([]);

  const blocksOf = async (person: TestPerson) => {
    const [row] = await database.query<{ "QUERY PLAN": [{ Plan: { "Shared Hit Blocks": number } }] }>(sql`
      EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
      SELECT * FROM users u LEFT JOIN reputations s ON s.user_id = u.id WHERE u.id = ${person.id}::uuid`);
    return row?.["QUERY PLAN"][0].Plan["Shared Hit Blocks"];
  };
  await database.query(sql`VACUUM ANALYZE reputations`);
  expect(await blocksOf(many)).toBe(await blocksOf(few));

  // One more award of such a buyer takes single steps in an index, too.
  await service.services.database.transaction((tx) => tx.ledger.deposit(many.id, "topup", 10_000, crypto.randomUUID()));
  await awardedTask(many, bidder, { maxBudgetCents: 100, priceCents: 100 });
  expect(await checkReputation(database)).toEqual([]);
});
