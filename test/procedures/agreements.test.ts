import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sweepOnce } from "../../server/jobs/sweeps.ts";
import { lapseAgreement } from "../../server/market/agreements/lapse.ts";
import { expireTask } from "../../server/market/tasks/expireTask.ts";
import { sql } from "../../server/store/connection.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import {
  awardedTask,
  deliver,
  deliveredTask,
  disputedTask,
  disputeReason,
  propose,
  taskInRound,
  upload,
} from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { useService } from "../setup/testService.ts";

const PRICE = 8_000; // what the factory bids
const START = 100_000;
const DAY_SECONDS = 86_400;

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeEach(async () => {
  buyer = await createPerson(service, { cents: START });
  bidder = await createPerson(service);
});
afterEach(() => expectBooksToBalance(service));

const read = async (taskId: string, by = buyer) => (await by.get(`/tasks/${taskId}`)).body;
const answer = (by: TestPerson, { id }: { id: string }, action: "accept" | "decline" | "withdraw") =>
  by.post(`/agreements/${id}/${action}`);
const codeOf = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const inDays = (days: number) => new Date(service.clock.now().getTime() + days * DAY_SECONDS * 1000).toISOString();
const ask = (by: TestPerson, taskId: string, proposal: object) =>
  by.post(`/tasks/${taskId}/agreements`, { reason: disputeReason, ...proposal });
const money = async () => {
  const { availableCents, heldCents } = (await buyer.get("/wallet")).body;
  return [availableCents, heldCents, (await bidder.get("/wallet")).body.availableCents];
};
const eventsOf = async (taskId: string) =>
  (
    await service.services.database.query<{ type: string; status: string | null }>(sql`
    SELECT type, data -> 'agreement' ->> 'status' AS status FROM events
    WHERE task_id = ${taskId}::uuid AND type ~ 'agreement|settled|cancelled|resolved' ORDER BY created_at, id`)
  ).map(({ type, status }) => (status === null ? type : `${type} ${status}`));
const reputationsOf = async () => [
  (await buyer.get(`/users/${buyer.id}/reputation`)).body.buyer,
  (await buyer.get(`/users/${bidder.id}/reputation`)).body.bidder,
];

test("who must answer a proposal sees until when in the list of their tasks, and its author does not", async () => {
  const { task } = await awardedTask(buyer, bidder);
  const listed = async (person: TestPerson, query = "") =>
    (await person.get(`/me/tasks${query}`)).body.tasks[0].proposalExpiresAt;
  expect([await listed(buyer), await listed(bidder)]).toEqual([null, null]);
  const byBidder = await propose(bidder, task.id);
  expect([await listed(buyer), await listed(bidder)]).toEqual([byBidder.expiresAt, null]);
  await answer(bidder, byBidder, "withdraw");
  const byBuyer = await propose(buyer, task.id);
  expect([await listed(buyer), await listed(bidder, "?role=bidder")]).toEqual([null, byBuyer.expiresAt]);
  // Its time is over as soon as the clock says so, whether or not a worker has looked.
  service.clock.advance(8 * DAY_SECONDS);
  expect(await listed(bidder)).toBe(null);
});

describe("what both sides agree on", () => {
  test("cancel: the hold returns, nobody is said to have cancelled or expired", async () => {
    const { task } = await deliveredTask(buyer, bidder);
    const agreement = await propose(bidder, task.id);
    expect(agreement).toMatchObject({
      status: "pending",
      proposedBy: "bidder",
      deliveryDueAt: null,
      bidderCents: null,
    });
    expect((await read(task.id)).agreement).toEqual(agreement);
    const { body } = await answer(buyer, agreement, "accept");
    expect(body.agreement).toMatchObject({ id: agreement.id, status: "accepted" });
    expect(body.task).toMatchObject({ status: "cancelled", closedBecause: "agreed" });
    expect((await read(task.id, bidder)).task).toEqual(body.task);
    expect(await money()).toEqual([START, 0, 0]);
    expect(await eventsOf(task.id)).toEqual([
      "agreement.proposed pending",
      "task.cancelled",
      "agreement.ended accepted",
    ]);
    const counted = { tasksEndedByAgreement: 1, tasksAwarded: 1 };
    expect(await reputationsOf()).toMatchObject([
      { ...counted, tasksCancelled: 0 },
      { ...counted, tasksExpired: 0, tasksGivenBack: 0 },
    ]);
  });

  test.each([0, 3_000, PRICE])("settle: the bidder is paid %i cents, and the rest returns", async (bidderCents) => {
    const { task } = await awardedTask(buyer, bidder);
    const agreement = await propose(buyer, task.id, { kind: "settle", bidderCents });
    const { body } = await answer(bidder, agreement, "accept");
    expect(body.task).toMatchObject({ status: "resolved", closedBecause: "agreed" });
    expect(await money()).toEqual([START - bidderCents, 0, bidderCents]);
    expect(await eventsOf(task.id)).toEqual([
      "agreement.proposed pending",
      "task.settled accepted",
      "agreement.ended accepted",
    ]);
    expect((await buyer.post(`/tasks/${task.id}/rate`, { stars: 5 })).status).toBe(201);
  });

  test("settle a dispute: it is resolved as settled, and nobody has lost it", async () => {
    const { task, dispute } = await disputedTask(buyer, bidder);
    const agreement = await propose(bidder, task.id, { kind: "settle", bidderCents: 2_000 });
    expect((await answer(buyer, agreement, "accept")).body.task.status).toBe("resolved");
    expect((await read(task.id)).dispute).toMatchObject({
      ...{ id: dispute.id, status: "resolved", resolution: "settled", buyerCents: PRICE - 2_000, bidderCents: 2_000 },
    });
    expect(await money()).toEqual([START - 2_000, 0, 2_000]);
    const [event] = await service.services.database.query<{ data: object }>(sql`
      SELECT data FROM events WHERE task_id = ${task.id}::uuid AND type = 'task.dispute_resolved'`);
    expect(event?.data).toMatchObject({ by: "parties", dispute: { resolution: "settled" } });
    expect(await eventsOf(task.id)).toContain("task.settled accepted");
    expect(await reputationsOf()).toMatchObject([
      { disputes: 1, disputesLost: 0, tasksEndedByAgreement: 1 },
      { disputes: 1, disputesLost: 0, tasksEndedByAgreement: 1 },
    ]);
    const moderator = await createModerator(service);
    const late = await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" });
    expect(codeOf(late)).toEqual([409, "wrong_status"]);
    expect((await moderator.get(`/tasks/${task.id}/agreements`)).body.agreements).toHaveLength(1);
  });

  test("extend: the new due time holds, for being on time and for the expiry, and nothing else changes", async () => {
    const { task, bid } = await awardedTask(buyer, bidder);
    const deliveryDueAt = inDays(10);
    const agreement = await propose(bidder, task.id, { kind: "extend", deliveryDueAt });
    const { body } = await answer(buyer, agreement, "accept");
    expect(body.task.status).toBe("awarded");
    expect(Date.parse(body.task.deliveryDueAt)).toBe(Date.parse(deliveryDueAt));
    service.clock.advance(9 * DAY_SECONDS); // the first due time and its grace period are over
    await expireTask(service.services, { taskId: task.id });
    await sweepOnce(service.services);
    await deliver(bidder, bid.id);
    expect((await reputationsOf())[1]).toMatchObject({ onTimeRate: 1, tasksExpired: 0 });
  });

  test("extend a round of changes: the earlier delivery stands again later", async () => {
    const { task } = await taskInRound(buyer, bidder);
    const agreement = await propose(bidder, task.id, { kind: "extend", deliveryDueAt: inDays(5) });
    const { body } = await answer(buyer, agreement, "accept");
    expect(body.task.changes.dueAt).toBe(body.task.deliveryDueAt);
    service.clock.advance(4 * DAY_SECONDS);
    await sweepOnce(service.services);
    expect((await read(task.id)).task.status).toBe("awarded");
    service.clock.advance(DAY_SECONDS + 60);
    expect((await read(task.id)).task.status).toBe("delivered");
  });
});

describe("an agreement", () => {
  test("is proposed by the two sides only, with the fields of its kind, and only while it could be carried out", async () => {
    const { task } = await awardedTask(buyer, bidder);
    const stranger = await createPerson(service);
    expect(codeOf(await ask(stranger, task.id, { kind: "cancel" }))).toEqual([403, "forbidden"]);
    const later = inDays(3);
    for (const proposal of [
      { kind: "cancel", bidderCents: 1 },
      { kind: "cancel", deliveryDueAt: later },
      { kind: "settle" },
      { kind: "settle", bidderCents: PRICE + 1 },
      { kind: "settle", bidderCents: -1 },
      { kind: "extend" },
      { kind: "extend", deliveryDueAt: task.deliveryDueAt },
      { kind: "extend", deliveryDueAt: inDays(-1) },
      { kind: "extend", deliveryDueAt: inDays(367) },
      { kind: "extend", deliveryDueAt: later, bidderCents: 1 },
      { kind: "rewrite" },
      { kind: "cancel", reason: "short" },
    ])
      expect(codeOf(await ask(buyer, task.id, proposal)), JSON.stringify(proposal)).toEqual([400, "invalid_input"]);
    const { task: delivered } = await deliveredTask(buyer, bidder);
    expect(codeOf(await ask(buyer, delivered.id, { kind: "extend", deliveryDueAt: later }))).toEqual([
      409,
      "wrong_status",
    ]);
    const { task: disputed } = await disputedTask(buyer, bidder);
    expect(codeOf(await ask(buyer, disputed.id, { kind: "cancel" }))).toEqual([409, "wrong_status"]);
  });

  test("is the only pending one of its task, which the second proposal names", async () => {
    const { task } = await awardedTask(buyer, bidder);
    const first = await propose(buyer, task.id);
    const second = await ask(bidder, task.id, { kind: "settle", bidderCents: 1 });
    expect([...codeOf(second), second.body.agreementId]).toEqual([409, "agreement_pending", first.id]);
    await answer(bidder, first, "decline");
    expect((await ask(bidder, task.id, { kind: "cancel" })).status).toBe(201);
    expect((await buyer.get(`/tasks/${task.id}/agreements?limit=1`)).body).toMatchObject({
      agreements: [{ status: "pending", proposedBy: "bidder" }],
      nextCursor: expect.any(String),
    });
  });

  test("is accepted and declined by the other side, and withdrawn by the side that proposed it; strangers do not see it", async () => {
    const { task } = await awardedTask(buyer, bidder);
    const agreement = await propose(buyer, task.id);
    const stranger = await createPerson(service);
    for (const action of ["accept", "decline", "withdraw"] as const) {
      const wrong = action === "withdraw" ? bidder : buyer;
      expect(codeOf(await answer(wrong, agreement, action)), action).toEqual([403, "forbidden"]);
      expect(codeOf(await answer(stranger, agreement, action)), action).toEqual([404, "not_found"]);
    }
    expect(codeOf(await stranger.get(`/tasks/${task.id}/agreements`))).toEqual([404, "not_found"]);
    const { body } = await answer(buyer, agreement, "withdraw");
    expect(body).toMatchObject({ agreement: { status: "withdrawn" }, task: { status: "awarded" } });
    for (const [by, action] of [
      [bidder, "accept"],
      [bidder, "decline"],
      [buyer, "withdraw"],
    ] as const)
      expect(codeOf(await answer(by, agreement, action)), action).toEqual([409, "wrong_status"]);
    expect(await read(task.id)).not.toHaveProperty("agreement");
    expect(await eventsOf(task.id)).toEqual(["agreement.proposed pending", "agreement.ended withdrawn"]);
  });

  test("lapses after 7 days, before and after the sweep, once, and never agrees by silence", async () => {
    const { task } = await awardedTask(buyer, bidder);
    await answer(bidder, await propose(buyer, task.id, { kind: "extend", deliveryDueAt: inDays(60) }), "accept");
    const agreement = await propose(buyer, task.id);
    service.clock.advance(7 * DAY_SECONDS + 1);
    expect(await read(task.id)).not.toHaveProperty("agreement");
    expect(codeOf(await answer(bidder, agreement, "accept"))).toEqual([409, "wrong_status"]);
    const list = async () => (await buyer.get(`/tasks/${task.id}/agreements?limit=1`)).body.agreements[0];
    const unswept = await list();
    expect(unswept).toMatchObject({ status: "lapsed", endedAt: agreement.expiresAt });
    const { id: agreementId } = agreement;
    await Promise.all([sweepOnce(service.services), lapseAgreement(service.services, { agreementId })]);
    expect(await list()).toEqual(unswept);
    expect((await eventsOf(task.id)).filter((event) => event === "agreement.ended lapsed")).toHaveLength(1);
    expect((await read(task.id)).task.status).toBe("awarded");
  });

  test("that has lapsed and was not swept does not keep another one out", async () => {
    const { task } = await awardedTask(buyer, bidder);
    await answer(bidder, await propose(buyer, task.id, { kind: "extend", deliveryDueAt: inDays(60) }), "accept");
    await propose(buyer, task.id);
    service.clock.advance(7 * DAY_SECONDS + 1);
    await answer(buyer, await propose(bidder, task.id), "accept");
    expect(await eventsOf(task.id)).toContain("agreement.ended lapsed");
    expect(await money()).toEqual([START, 0, 0]);
  });

  test("lapses when the task moves: by a delivery, a request for changes, the clock at the end of a round, an acceptance", async () => {
    const { task, bid } = await awardedTask(buyer, bidder);
    const lapsed = async (by: TestPerson, move: () => Promise<unknown>) => {
      const agreement = await propose(by, task.id);
      await move();
      expect(codeOf(await answer(by === buyer ? bidder : buyer, agreement, "accept"))).toEqual([409, "wrong_status"]);
    };
    await lapsed(buyer, () => deliver(bidder, bid.id));
    await lapsed(bidder, () => buyer.post(`/tasks/${task.id}/accept`));
    expect(await eventsOf(task.id)).toEqual(
      Array.from({ length: 2 }, () => ["agreement.proposed pending", "agreement.ended lapsed"]).flat(),
    );
    expect(await money()).toEqual([START - PRICE, 0, PRICE]);

    const { task: changed } = await taskInRound(buyer, bidder);
    const agreement = await propose(buyer, changed.id);
    service.clock.advance(3 * DAY_SECONDS + 60);
    expect(await read(changed.id)).not.toHaveProperty("agreement");
    expect(codeOf(await answer(bidder, agreement, "accept"))).toEqual([409, "wrong_status"]);
    await sweepOnce(service.services);
    expect(await eventsOf(changed.id)).toContain("agreement.ended lapsed");
  });

  test("cannot be accepted after the task's deadline, whether or not the clock's job has run", async () => {
    const { task } = await deliveredTask(buyer, bidder);
    const agreement = await propose(buyer, task.id);
    service.clock.advance(2 * DAY_SECONDS + 1);
    expect(codeOf(await answer(bidder, agreement, "accept"))).toEqual([409, "wrong_status"]);
    await sweepOnce(service.services);
    expect((await read(task.id)).task).toMatchObject({ status: "accepted", closedBecause: null });
  });
});

test("of an accepted settlement, a moderator's decision and another acceptance exactly one takes effect", async () => {
  const moderator = await createModerator(service);
  for (let round = 0; round < 6; round++) {
    const before = await money();
    const { task, dispute } = await disputedTask(buyer, bidder);
    const agreement = await propose(bidder, task.id, { kind: "settle", bidderCents: 1_000 });
    const answers = await Promise.all([
      answer(buyer, agreement, "accept"),
      moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "split", bidderCents: 5_000 }),
      answer(buyer, agreement, "accept"),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(2);
    const paid = answers[1]?.status === 200 ? 5_000 : 1_000;
    const [available = 0, held = 0, earned = 0] = before;
    expect(await money()).toEqual([available - paid, held, earned + paid]);
    expect((await read(task.id)).dispute).toMatchObject({ bidderCents: paid, status: "resolved" });
  }
});

describe("giving back", () => {
  test("returns the hold and cancels the task, and counts by its own name", async () => {
    const { task, bid } = await awardedTask(buyer, bidder);
    const { body } = await bidder.post(`/bids/${bid.id}/give-back`, { reason: disputeReason });
    expect(body.task).toMatchObject({ status: "cancelled", closedBecause: "given_back", awardedBidId: bid.id });
    expect(await money()).toEqual([START, 0, 0]);
    const [event] = await service.services.database.query<{ data: object; recipients: string[] }>(sql`
      SELECT data, recipients FROM events WHERE task_id = ${task.id}::uuid AND type = 'task.cancelled'`);
    expect(event).toMatchObject({ data: { reason: disputeReason }, recipients: [buyer.id, bidder.id] });
    expect(await reputationsOf()).toMatchObject([
      { tasksCancelled: 0, tasksEndedByAgreement: 0 },
      { tasksGivenBack: 1, tasksExpired: 0, tasksEndedByAgreement: 0, onTimeRate: null },
    ]);
    expect(codeOf(await buyer.post(`/tasks/${task.id}/rate`, { stars: 1 }))).toEqual([409, "wrong_status"]);
  });

  test("is for the awarded bidder, before any delivery and before the expiry", async () => {
    const { bid } = await awardedTask(buyer, bidder);
    const giveBack = (by: TestPerson, bidId: string) => by.post(`/bids/${bidId}/give-back`, { reason: disputeReason });
    expect(codeOf(await giveBack(buyer, bid.id))).toEqual([403, "forbidden"]);
    for (const make of [deliveredTask, taskInRound]) {
      const { bid: delivered } = await make(buyer, bidder);
      expect(codeOf(await giveBack(bidder, delivered.id))).toEqual([409, "wrong_status"]);
    }
    service.clock.advance(9 * DAY_SECONDS);
    expect(codeOf(await giveBack(bidder, bid.id))).toEqual([409, "wrong_status"]);
  });

  test("and a delivery at the same time end in one of the two", async () => {
    for (let round = 0; round < 5; round++) {
      const { task, bid } = await awardedTask(buyer, bidder);
      const storageKey = await upload(bidder, bid.id, "delivery");
      const answers = await Promise.all([
        bidder.post(`/bids/${bid.id}/give-back`, { reason: disputeReason }),
        bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey }),
      ]);
      expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
      const { status } = (await read(task.id)).task;
      expect(status).toBe(answers[0]?.status === 200 ? "cancelled" : "delivered");
    }
  });
});

test("events and kept answers from before a field existed are still answered, with its default", async () => {
  const { task } = await awardedTask(buyer, bidder);
  await service.services.database.query(sql`
    UPDATE events SET data = (data::jsonb #- '{task,revisions}' #- '{task,revisionsUsed}' #- '{task,closedBecause}')::json
    WHERE task_id = ${task.id}::uuid`);
  const { status, body } = await buyer.get("/events?types=task.awarded");
  expect(status).toBe(200);
  expect(body.events[0].data.task).toMatchObject({ id: task.id, revisions: 0, revisionsUsed: 0, closedBecause: null });
});
