import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkDatabase } from "../../../server/audit/audit.ts";
import { withdrawFees } from "../../../server/market/fees/withdrawals.ts";
import { sql } from "../../../server/store/connection.ts";
import { setFee } from "../../factories/fees.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, deliveredTask, disputedTask, placeBid, postTask, propose } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { rest } from "../../setup/client.ts";
import { eventually } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeEach(async () => {
  buyer = await createPerson(service, { cents: 100_000 });
  bidder = await createPerson(service);
});
afterAll(() => expectBooksToBalance(service));

const availableOf = async (person: TestPerson) => (await person.get("/wallet")).body.availableCents;
const bidOf = async (person: TestPerson, id: string) => (await person.get(`/bids/${id}`)).body.bid;
const fees = async () => (await rest(service.url, "GET", "/fees")).body;

/** The entries of the movements of a task, oldest first, of both sides and the platform. */
const movementsOf = (taskId: string) =>
  service.services.database.query<{ kind: string; bucket: string; cents: number }>(sql`
    SELECT e.kind, e.bucket, e.amount_cents AS cents FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    WHERE t.task_id = ${taskId}::uuid AND e.kind IN ('task_payment', 'task_earning', 'platform_fee')
    ORDER BY e.created_at, e.kind, e.bucket`);
const platformFeeOf = async (taskId: string) =>
  (await movementsOf(taskId)).find(({ bucket }) => bucket === "platform")?.cents ?? 0;

describe("before there was ever a schedule", () => {
  test("nothing shows that there could be a fee", async () => {
    expect(await fees()).toEqual({ current: null, schedules: [] });
    const { task, bid } = await deliveredTask(buyer, bidder);
    expect(Object.keys(await bidOf(bidder, bid.id))).not.toContain("feeCents");
    const { bids } = (await bidder.get("/bids")).body;
    expect(Object.keys(bids[0])).not.toContain("netCents");
    await buyer.post(`/tasks/${task.id}/accept`);
    expect(await availableOf(bidder)).toBe(8_000);
    expect((await movementsOf(task.id)).map(({ kind }) => kind).sort()).toEqual(["task_earning", "task_payment"]);
  });

  test("a bid that stands keeps its free price when the first schedule comes", async () => {
    const { task, bid } = await deliveredTask(buyer, bidder);
    const schedule = await setFee(service);
    expect((await fees()).current).toEqual(schedule);
    expect(await bidOf(bidder, bid.id)).toMatchObject({ feeCents: 0, netCents: 8_000 });
    await buyer.post(`/tasks/${task.id}/accept`);
    expect(await availableOf(bidder)).toBe(8_000);
    expect(await platformFeeOf(task.id)).toBe(0);
  });
});

describe("with a fee of 10 %, at least 100 cents and at most 5,000", () => {
  beforeAll(() => setFee(service));

  test("the bid shows its owner fee and net, in every answer and list, and nobody else", async () => {
    const task = await postTask(buyer);
    const placed = await placeBid(bidder, task.id, { priceCents: 8_005 });
    const shown = { priceCents: 8_005, feeCents: 800, netCents: 7_205 };
    expect(placed).toMatchObject(shown);
    expect(await bidOf(bidder, placed.id)).toMatchObject(shown);
    expect((await bidder.get("/bids")).body.bids[0]).toMatchObject(shown);
    expect((await bidder.get(`/tasks/${task.id}/bids`)).body.bids[0]).toMatchObject(shown);
    expect((await bidder.get(`/tasks/${task.id}`)).body.bids[0]).toMatchObject(shown);
    expect((await bidder.get("/auth/export")).body.bids[0]).toMatchObject(shown);

    const { awardedBid } = (await buyer.post(`/tasks/${task.id}/award`, { bidId: placed.id })).body;
    const others = [
      awardedBid,
      await bidOf(buyer, placed.id),
      (await buyer.get(`/tasks/${task.id}/bids`)).body.bids[0],
      (await buyer.get(`/tasks/${task.id}`)).body.bids[0],
    ];
    const events = [...(await buyer.get("/events")).body.events, ...(await bidder.get("/events")).body.events];
    const text = JSON.stringify([others, events]);
    expect(text).toContain(placed.id);
    expect(text).not.toMatch(/feeCents|netCents|basisPoints|"fee"/);
  });

  test("a withdrawn bid still shows its owner what it would have cost", async () => {
    const bid = await placeBid(bidder, (await postTask(buyer)).id);
    expect((await bidder.post(`/bids/${bid.id}/withdraw`)).body.bid).toMatchObject({ feeCents: 800, netCents: 7_200 });
  });

  test("a dry run of a bid shows fee and net, and leaves nothing behind", async () => {
    const task = await postTask(buyer);
    const dry = (body: object) =>
      rest(service.url, "POST", `/tasks/${task.id}/bids`, {
        ...{ body, credentials: bidder.session, headers: { "Dry-Run": "true" } },
      });
    const { status, body } = await dry({ priceCents: 500, etaHours: 1 });
    expect([status, body.bid.feeCents, body.bid.netCents]).toEqual([201, 100, 400]);
    expect((await bidder.get("/bids")).body.bids).toEqual([]);
  });

  test("it is taken in the movement of the payment: the earning is the whole price", async () => {
    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    expect(await availableOf(bidder)).toBe(7_200);
    expect((await movementsOf(task.id)).map(({ kind, bucket, cents }) => `${kind} ${bucket} ${cents}`).sort()).toEqual([
      "platform_fee available -800",
      "platform_fee platform 800",
      "task_earning available 8000",
      "task_payment held -8000",
    ]);
    const { entries } = (await bidder.get("/wallet/ledger?kind=platform_fee")).body;
    expect(entries).toMatchObject([{ kind: "platform_fee", bucket: "available", amountCents: -800, taskId: task.id }]);
    expect((await buyer.get("/wallet/ledger?kind=platform_fee")).body.entries).toEqual([]);
  });

  test("a price below the minimum is all fee, and can be paid", async () => {
    const { task } = await deliveredTask(buyer, bidder, { priceCents: 60 });
    expect((await buyer.post(`/tasks/${task.id}/accept`)).status).toBe(200);
    expect([await availableOf(bidder), await platformFeeOf(task.id)]).toEqual([0, 60]);
  });

  test("a moderator's split has no minimum, and a release is the whole price", async () => {
    const moderator = await createModerator(service);
    const resolve = async (decision: object) => {
      const { task, dispute } = await disputedTask(buyer, bidder);
      expect((await moderator.post(`/disputes/${dispute.id}/resolve`, decision)).status).toBe(200);
      return platformFeeOf(task.id);
    };
    expect(await resolve({ resolution: "split", bidderCents: 509 })).toBe(50);
    expect(await resolve({ resolution: "release" })).toBe(800);
    expect(await resolve({ resolution: "refund" })).toBe(0);
    expect(await availableOf(bidder)).toBe(509 - 50 + 8_000 - 800);
  });

  test("a settlement has the minimum, at most all that the bidder gets, also in a dispute", async () => {
    const settle = async (bidderCents: number, start: typeof deliveredTask) => {
      const { task } = await start(buyer, bidder);
      const { id } = await propose(bidder, task.id, { kind: "settle", bidderCents });
      expect((await buyer.post(`/agreements/${id}/accept`)).status).toBe(200);
      return platformFeeOf(task.id);
    };
    expect(await settle(509, deliveredTask)).toBe(100);
    expect(await settle(40, disputedTask)).toBe(40);
    expect(await settle(7_999, awardedTask)).toBe(799);
    expect(await settle(0, awardedTask)).toBe(0);
  });

  test("nothing is taken when nothing is paid: cancelled, given back, ended together", async () => {
    const { task } = await awardedTask(buyer, bidder);
    const { id } = await propose(bidder, task.id);
    await buyer.post(`/agreements/${id}/accept`);
    const { task: returned, bid } = await awardedTask(buyer, bidder);
    await bidder.post(`/bids/${bid.id}/give-back`, { reason: "I cannot do it." });
    const open = await postTask(buyer);
    await buyer.post(`/tasks/${open.id}/cancel`);
    for (const each of [task, returned, open]) expect(await movementsOf(each.id)).toEqual([]);
    expect(await availableOf(buyer)).toBe(100_000);
  });

  test("the fee comes first, and an old debt is paid from the net", async () => {
    await service.services.database.transaction((tx) => tx.ledger.clawBack(bidder.id, "chargeback", 3_000, bidder.id));
    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    expect([await availableOf(bidder), await platformFeeOf(task.id)]).toEqual([8_000 - 800 - 3_000, 800]);
    const { entries } = (await bidder.get("/wallet/ledger")).body;
    expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual(["adjustment", "platform_fee", "task_earning"]);
  });
});

describe("what is frozen", () => {
  test("a later schedule touches no bid; another price has the fee of its time, the same price keeps its own", async () => {
    await setFee(service, { basisPoints: 1_000, minCents: 0, maxCents: null });
    const task = await postTask(buyer);
    const bid = await placeBid(bidder, task.id);
    await setFee(service, { basisPoints: 2_000, minCents: 0, maxCents: null });
    expect(await bidOf(bidder, bid.id)).toMatchObject({ feeCents: 800, netCents: 7_200 });
    const change = async (body: object) => (await bidder.patch(`/bids/${bid.id}`, body)).body.bid;
    expect(await change({ priceCents: 8_000, etaHours: 12 })).toMatchObject({ feeCents: 800, etaHours: 12 });
    expect(await change({ notes: "Soon." })).toMatchObject({ feeCents: 800 });
    expect(await change({ priceCents: 7_000 })).toMatchObject({ feeCents: 1_400, netCents: 5_600 });
    await setFee(service, { basisPoints: 0, minCents: 0 });
    expect(await bidOf(bidder, bid.id)).toMatchObject({ feeCents: 1_400 });
    expect(await change({ priceCents: 7_001 })).toMatchObject({ feeCents: 0, netCents: 7_001 });
  });

  test("a schedule of the future is shown, and counts from its time on", async () => {
    const now = await setFee(service, { basisPoints: 100, minCents: 0 });
    const from = new Date(Date.now() + 2_000).toISOString();
    const next = await setFee(service, { basisPoints: 300, minCents: 0, from });
    const replaced = await setFee(service, { basisPoints: 200, minCents: 0, from });
    expect(replaced.from).toBe(from.replace("Z", "000Z"));
    const { current, schedules } = await fees();
    expect(current).toEqual(now);
    expect(schedules.slice(0, 3)).toEqual([replaced, next, now]);
    const task = await postTask(buyer);
    expect(await placeBid(bidder, task.id)).toMatchObject({ feeCents: 80 });
    await eventually(fees, ({ current: later }) => later.id === replaced.id);
    expect(await placeBid(await createPerson(service), task.id)).toMatchObject({ feeCents: 160 });
  });

  test("bids that are placed while schedules change have the one that was current when their price was set", async () => {
    const task = await postTask(buyer);
    const bidders = await Promise.all(Array.from({ length: 12 }, () => createPerson(service)));
    await Promise.all([
      ...bidders.map((each) => placeBid(each, task.id)),
      ...[400, 600, 800].map((basisPoints) => setFee(service, { basisPoints })),
    ]);
    const checks = await service.services.database.snapshot(checkDatabase);
    const name = "each bid has the fee of the schedule of its time";
    expect(checks).toContainEqual({ name, count: 0, discrepancies: [] });
  });
});

describe("the database refuses", () => {
  const refusalOf = (statement: ReturnType<typeof sql>) =>
    service.owner.query(statement).then(
      () => "nothing",
      (error: Error & { constraint?: string }) => error.constraint ?? error.message,
    );
  const insert = (columns: string, values: string) =>
    service.owner.pool.query(`INSERT INTO fee_schedules (${columns}) VALUES (${values})`).then(
      () => "nothing",
      (error: { constraint?: string }) => error.constraint,
    );

  test("to change or delete a schedule, whoever asks", async () => {
    await setFee(service);
    expect(await refusalOf(sql`UPDATE fee_schedules SET basis_points = 0`)).toContain("append-only");
    expect(await refusalOf(sql`DELETE FROM fee_schedules`)).toContain("append-only");
    expect(await refusalOf(sql`TRUNCATE fee_schedules CASCADE`)).toContain("append-only");
  });

  test("a schedule of the past, and one that makes no sense", async () => {
    expect(await insert("starts_at, basis_points", "service_now() - interval '1 second', 1")).toBe(
      "fee_schedules_never_past",
    );
    expect(await insert("basis_points, min_cents, max_cents", "1, 2, 1")).toBe("fee_schedules_limits_in_order");
    expect(await insert("basis_points", "5001")).toBe("fee_schedules_basis_points_known");
    expect(await insert("basis_points, tax_basis_points", "1, -1")).toBe("fee_schedules_tax_known");
  });

  test("a withdrawal of more than there is, and of the same reference for another amount, also at the same time", async () => {
    const { database } = service.services;
    await setFee(service, { basisPoints: 5_000, maxCents: null });
    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    const total = async () => {
      const [row] = await database.query<{ cents: number }>(
        sql`SELECT sum(amount_cents)::bigint AS cents FROM ledger_entries WHERE bucket = 'platform'`,
      );
      return row?.cents ?? 0;
    };
    const before = await total();
    expect(before).toBeGreaterThanOrEqual(4_000);
    const half = Math.floor(before / 2) + 1;
    const outcomes = await Promise.allSettled(["a", "b", "c"].map((name) => withdrawFees(database, half, name)));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(await total()).toBe(before - half);
    const again = await Promise.all(Array.from({ length: 4 }, () => withdrawFees(database, 1, "once")));
    expect(again.filter((isNew) => isNew)).toHaveLength(1);
    expect(await total()).toBe(before - half - 1);
    await expect(withdrawFees(database, 2, "once")).rejects.toMatchObject({
      constraint: "ledger_transfers_fingerprint",
    });
  });
});
