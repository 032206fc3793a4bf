import { beforeAll, describe, expect, test } from "vitest";
import { sweepOnce } from "../../../server/jobs/sweeps.ts";
import { reputationDifferences } from "../../../server/market/reputation.ts";
import { sql } from "../../../server/store/connection.ts";
import { createModerator, makeModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { deliveredTask, disputedTask, disputeReason, postTask, upload } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { rest } from "../../setup/client.ts";
import { clockOf } from "../../setup/testClock.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const HOURS_48 = 172_800;

let buyer: TestPerson;
let bidder: TestPerson;
let stranger: TestPerson;
let moderator: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 10_000_000 });
  bidder = await createPerson(service);
  stranger = await createPerson(service);
  moderator = await createModerator(service);
});

const wallet = async (person: TestPerson) => (await person.get("/wallet")).body;
const eventsOf = (taskId: string, type: string) =>
  service.services.database.query<{ data: Record<string, unknown>; recipients: string[] }>(sql`
    SELECT data, recipients FROM events WHERE task_id = ${taskId}::uuid AND type = ${type}`);

describe("opening", () => {
  test.each(["buyer", "bidder"] as const)(
    "the %s can dispute a delivery: the money stays held, and the event goes to both parties",
    async (side) => {
      const { task } = await deliveredTask(buyer, bidder, { priceCents: 7_000 });
      const before = await wallet(buyer);
      const answer = await (side === "buyer" ? buyer : bidder).post(`/tasks/${task.id}/dispute`, {
        reason: disputeReason,
      });

      expect(answer.status).toBe(201);
      expect(answer.body.dispute).toEqual({
        id: expect.any(String),
        taskId: task.id,
        openedBy: side,
        reason: disputeReason,
        status: "open",
        resolution: null,
        buyerCents: null,
        bidderCents: null,
        note: null,
        createdAt: expect.stringMatching(/\.\d{6}Z$/),
        resolvedAt: null,
      });
      expect(answer.body.task.status).toBe("disputed");
      expect(await wallet(buyer)).toEqual(before);
      const [event, ...others] = await eventsOf(task.id, "task.disputed");
      expect(others).toEqual([]);
      expect(event?.recipients.toSorted()).toEqual([buyer.id, bidder.id].toSorted());
      expect(event?.data).toMatchObject({ task: { status: "disputed" }, dispute: { id: answer.body.dispute.id } });
    },
  );

  test("a reason has 10 to 2,000 code points", async () => {
    const penguin = "🐧"; // one code point of two UTF-16 code units
    const { task } = await deliveredTask(buyer, bidder);
    const send = (reason: unknown) => buyer.post(`/tasks/${task.id}/dispute`, { reason });
    for (const reason of [
      penguin.repeat(9),
      "x".repeat(9),
      "x".repeat(2_001),
      penguin.repeat(2_001),
      1234567890,
      null,
    ]) {
      const answer = await send(reason);
      expect([answer.status, answer.body.error, answer.body.issues[0].path]).toEqual([400, "invalid_input", "reason"]);
    }
    expect((await send(penguin.repeat(2_000))).status).toBe(201);
  });

  test("a dispute stops the automatic release, and a second one is already_disputed", async () => {
    const { task } = await disputedTask(buyer, bidder);
    service.clock.advance(HOURS_48 * 2);
    await sweepOnce(service.services);
    expect((await buyer.get(`/tasks/${task.id}`)).body.task.status).toBe("disputed");
    const again = await bidder.post(`/tasks/${task.id}/dispute`, { reason: disputeReason });
    expect([again.status, again.body.error]).toEqual([409, "already_disputed"]);
    const accept = await buyer.post(`/tasks/${task.id}/accept`);
    expect([accept.status, accept.body.error]).toEqual([409, "wrong_status"]);
  });

  test("after the deadline a dispute is refused, even if no sweep has run yet", async () => {
    const { task } = await deliveredTask(buyer, bidder);
    service.clock.advance(HOURS_48 + 1);
    const late = await buyer.post(`/tasks/${task.id}/dispute`, { reason: disputeReason });
    expect([late.status, late.body.error]).toEqual([409, "wrong_status"]);
    expect((await stranger.post(`/tasks/${task.id}/dispute`, { reason: disputeReason })).status).toBe(403);
    expect((await buyer.post(`/tasks/${crypto.randomUUID()}/dispute`, { reason: disputeReason })).status).toBe(404);
    await sweepOnce(service.services);
  });

  test("of disputes, acceptance and release at the same time exactly one succeeds", async () => {
    for (let round = 0; round < 12; round++) {
      const before = await wallet(buyer);
      const earned = (await wallet(bidder)).availableCents;
      const { task } = await deliveredTask(buyer, bidder, { priceCents: 5_000, maxBudgetCents: 5_000 });
      // The sweep judges by a clock that is past the deadline, the requests by one that is before it.
      const late = {
        ...service.services,
        clock: clockOf(() => new Date(service.clock.now().getTime() + HOURS_48 * 1000)),
      };
      const [byBuyer, byBidder, accepted] = await Promise.all([
        buyer.post(`/tasks/${task.id}/dispute`, { reason: disputeReason }),
        bidder.post(`/tasks/${task.id}/dispute`, { reason: disputeReason }),
        round % 2 === 0 ? buyer.post(`/tasks/${task.id}/accept`) : sweepOnce(late).then(() => null),
      ]);
      const disputes = [byBuyer, byBidder].filter(({ status }) => status === 201).length;
      const { status } = (await buyer.get(`/tasks/${task.id}`)).body.task;
      const paid = (await wallet(bidder)).availableCents - earned;
      const held = (await wallet(buyer)).heldCents - before.heldCents;
      if (disputes === 1) expect([status, paid, held]).toEqual(["disputed", 0, 5_000]);
      else expect([status, disputes, paid, held]).toEqual(["accepted", 0, 5_000, 0]);
      if (accepted !== null) expect(accepted.status).toBe(disputes === 1 ? 409 : 200);
    }
  });
});

describe("resolving", () => {
  type Row = [{ resolution: string; bidderCents?: number; note?: string }, number, number];
  test.each<Row>([
    [{ resolution: "refund" }, 7_001, 0],
    [{ resolution: "release" }, 0, 7_001],
    [{ resolution: "split", bidderCents: 1 }, 7_000, 1],
    [{ resolution: "split", bidderCents: 7_000, note: "Half of it was there." }, 1, 7_000],
  ])("%o returns %i to the buyer and pays %i to the bidder", async (decision, buyerCents, bidderCents) => {
    const { task, dispute } = await disputedTask(buyer, bidder, { priceCents: 7_001, maxBudgetCents: 9_000 });
    const before = { buyer: await wallet(buyer), bidder: await wallet(bidder) };
    const answer = await moderator.post(`/disputes/${dispute.id}/resolve`, decision);

    expect(answer.status).toBe(200);
    expect(answer.body.dispute).toMatchObject({
      status: "resolved",
      resolution: decision.resolution,
      buyerCents,
      bidderCents,
      note: decision.note ?? null,
    });
    expect(answer.body.task).toMatchObject({ id: task.id, status: "resolved" });
    expect(await wallet(buyer)).toEqual({
      availableCents: before.buyer.availableCents + buyerCents,
      heldCents: before.buyer.heldCents - 7_001,
    });
    expect(await wallet(bidder)).toEqual({
      ...before.bidder,
      availableCents: before.bidder.availableCents + bidderCents,
    });
    const kinds = await service.services.database.query<{ kind: string }>(sql`
      SELECT DISTINCT e.kind FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
      WHERE t.task_id = ${task.id}::uuid AND t.created_at >= ${answer.body.dispute.createdAt}::timestamptz ORDER BY 1`);
    expect(kinds.map(({ kind }) => kind)).toEqual([
      ...(buyerCents > 0 ? ["dispute_refund"] : []),
      ...(bidderCents > 0 ? ["task_earning", "task_payment"] : []),
    ]);
    expect(await eventsOf(task.id, "task.dispute_resolved")).toHaveLength(1);
  });

  test("input that does not fit the resolution is refused and changes nothing", async () => {
    const { dispute } = await disputedTask(buyer, bidder, { priceCents: 500 });
    for (const decision of [
      {},
      { resolution: "keep" },
      { resolution: "split" },
      { resolution: "split", bidderCents: 0 },
      { resolution: "split", bidderCents: 500 },
      { resolution: "split", bidderCents: 1.5 },
      { resolution: "split", bidderCents: "100" },
      { resolution: "refund", bidderCents: 1 },
      { resolution: "refund", note: "x".repeat(2_001) },
      { resolution: "refund", winner: "me" },
    ]) {
      const answer = await moderator.post(`/disputes/${dispute.id}/resolve`, decision);
      expect([answer.status, answer.body.error], JSON.stringify(decision)).toEqual([400, "invalid_input"]);
      expect(answer.body.issues.length).toBeGreaterThan(0);
    }
    expect((await moderator.get(`/disputes/${dispute.id}`)).body.dispute.status).toBe("open");
  });

  test("a dispute is resolved once, even if two moderators decide differently at the same time", async () => {
    const second = await createModerator(service);
    for (let round = 0; round < 10; round++) {
      const { dispute } = await disputedTask(buyer, bidder, { priceCents: 2_000 });
      const before = (await wallet(buyer)).heldCents;
      const answers = await Promise.all([
        moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" }),
        second.post(`/disputes/${dispute.id}/resolve`, { resolution: "release" }),
        second.post(`/disputes/${dispute.id}/resolve`, { resolution: "split", bidderCents: 700 }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
      expect((await wallet(buyer)).heldCents).toBe(before - 2_000);
    }
  });

  test("a party can be suspended while another moderator decides: the decision stands, and the money goes where it says", async () => {
    const second = await createModerator(service);
    for (let round = 0; round < 6; round++) {
      const [payer, worker] = await Promise.all([createPerson(service, { cents: 2_000 }), createPerson(service)]);
      const { dispute } = await disputedTask(payer, worker, { maxBudgetCents: 2_000, priceCents: 2_000 });
      const suspended = round % 2 === 0 ? payer : worker;
      const answers = await Promise.all([
        moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "split", bidderCents: 700 }),
        second.post(`/users/${suspended.id}/suspend`, { reason: "Abuse." }),
        second.post(`/disputes/${dispute.id}/resolve`, { resolution: "split", bidderCents: 700 }),
        moderator.post(`/users/${suspended.id}/suspend`, { reason: "Abuse." }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 409]);
      const wallets = await service.services.database.query(sql`
        SELECT available_cents::int AS available, held_cents::int AS held FROM wallets
        WHERE user_id IN (${payer.id}::uuid, ${worker.id}::uuid) ORDER BY available_cents`);
      expect(wallets).toEqual([
        { available: 700, held: 0 },
        { available: 1_300, held: 0 },
      ]);
      const actions = await service.services.database.query(sql`
        SELECT action FROM moderation_actions
        WHERE dispute_id = ${dispute.id}::uuid OR user_id = ${suspended.id}::uuid ORDER BY action`);
      expect(actions).toEqual([{ action: "resolve_dispute" }, { action: "suspend_user" }]);
    }
    await expectBooksToBalance(service);
  });

  test("only a moderator's session may resolve a dispute, never a key or a party, and only once", async () => {
    const { dispute } = await disputedTask(buyer, bidder);
    const path = `/disputes/${dispute.id}/resolve`;
    const refund = { resolution: "refund" };
    for (const person of [buyer, bidder, stranger]) {
      const answer = await person.post(path, refund);
      expect([answer.status, answer.body.error]).toEqual([403, "forbidden"]);
    }
    expect((await rest(service.url, "POST", path, { body: refund })).status).toBe(401);
    expect((await rest(service.url, "POST", path, { body: refund, credentials: moderator.key })).status).toBe(403);
    expect((await moderator.post(`/disputes/${crypto.randomUUID()}/resolve`, refund)).status).toBe(404);
    expect((await moderator.post("/disputes/nonsense/resolve", refund)).status).toBe(404);
    expect((await moderator.post(path, refund)).status).toBe(200);
    const again = await moderator.post(path, refund);
    expect([again.status, again.body.error]).toEqual([409, "wrong_status"]);
  });

  test("a moderator who is a party to the task may not resolve its dispute; granting and removing the role take effect immediately", async () => {
    const both = await createPerson(service, { cents: 100_000 });
    const { dispute } = await disputedTask(both, bidder);
    const { dispute: other } = await disputedTask(buyer, bidder);
    const resolve = (id: string) => both.post(`/disputes/${id}/resolve`, { resolution: "refund" });
    expect((await resolve(other.id)).status).toBe(403);
    await makeModerator(service, both);
    expect((await resolve(dispute.id)).status).toBe(403);
    expect((await resolve(other.id)).status).toBe(200);
    await service.services.database.query(sql`UPDATE users SET role = 'member' WHERE id = ${both.id}::uuid`);
    const { dispute: third } = await disputedTask(buyer, bidder);
    expect((await resolve(third.id)).status).toBe(403);
    expect((await both.get(`/disputes/${third.id}`)).status).toBe(404);
  });
});

describe("the work list", () => {
  test("a moderator pages through all disputes, oldest first, and reads one with everything that a decision needs", async () => {
    const { task, bid, dispute } = await disputedTask(buyer, bidder);
    const walked: { id: string; createdAt: string }[] = [];
    let cursor: string | null = "";
    for (let pages = 0; cursor !== null && pages < 100; pages++) {
      const page = await moderator.get(`/disputes?limit=3${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      expect(page.status).toBe(200);
      walked.push(...page.body.disputes);
      cursor = page.body.nextCursor;
    }
    const [all] = await service.services.database.query<{ ids: string[] }>(sql`
      SELECT array_agg(id::text ORDER BY created_at) AS ids FROM disputes`);
    expect(walked.map(({ id }) => id)).toEqual(all?.ids);

    expect(walked.at(-1)).toMatchObject({
      id: dispute.id,
      task: { id: task.id, title: task.title, status: "disputed" },
      buyer: { id: buyer.id, displayName: buyer.displayName },
      bidder: { id: bidder.id, displayName: bidder.displayName },
      priceCents: 8_000,
    });
    const detail = (await moderator.get(`/disputes/${dispute.id}`)).body;
    expect(detail).toMatchObject({
      dispute: { id: dispute.id, reason: disputeReason },
      task: { id: task.id, status: "disputed", acceptanceCriteria: null, buyer: { id: buyer.id } },
      bid: { id: bid.id, priceCents: 8_000, bidder: { id: bidder.id } },
      samples: [],
      deliveries: [{ bidId: bid.id, downloadUrl: expect.stringMatching(/^http/) }],
      reputations: {
        buyer: { userId: buyer.id },
        bidder: { userId: bidder.id, bidder: { tasksDelivered: expect.any(Number) } },
      },
    });
    expect(Object.keys(detail).toSorted()).toEqual([
      "bid",
      "brief",
      "deliveries",
      "dispute",
      "reputations",
      "rounds",
      "said",
      "samples",
      "task",
    ]);
    expect(await (await fetch(detail.deliveries[0].downloadUrl)).text()).toBe("hello, world");
    const open = (await moderator.get("/disputes?status=open&limit=100")).body.disputes;
    expect(open.every(({ status }: { status: string }) => status === "open")).toBe(true);
    expect((await moderator.get("/disputes?status=closed")).status).toBe(400);
  });

  test("anyone else sees only the disputes of their own tasks, and so does a moderator's API key", async () => {
    const { dispute } = await disputedTask(buyer, bidder);
    for (const party of [buyer, bidder]) {
      const list = await party.get("/disputes?limit=100");
      expect(list.body.disputes.map(({ id }: { id: string }) => id)).toContain(dispute.id);
      expect((await party.get(`/disputes/${dispute.id}`)).status).toBe(200);
    }
    expect((await stranger.get("/disputes")).body).toEqual({ disputes: [], nextCursor: null });
    expect((await stranger.get(`/disputes/${dispute.id}`)).status).toBe(404);
    const byKey = (path: string) => rest(service.url, "GET", path, { credentials: moderator.key });
    expect((await byKey("/disputes")).body.disputes).toEqual([]);
    expect((await byKey(`/disputes/${dispute.id}`)).status).toBe(404);
    expect((await rest(service.url, "GET", "/disputes")).status).toBe(401);
  });
});

test("the stored reputations match the tasks, disputes and ratings", async () => {
  await postTask(buyer);
  expect(await service.services.database.query(reputationDifferences)).toEqual([]);
  const { bid } = await deliveredTask(buyer, bidder);
  await expect(upload(bidder, bid.id, "delivery")).rejects.toThrow("409");
  expect(await service.services.database.query(reputationDifferences)).toEqual([]);
});
