import { afterEach, describe, expect, test } from "vitest";
import { sweepOnce } from "../../../server/jobs/sweeps.ts";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, deliveredTask, placeBid, postTask, taskInput, upload } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import type { Answer } from "../../setup/client.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
afterEach(() => expectBooksToBalance(service));

/** Sends all requests at the same time, and returns the responses in the order of the requests. */
const atOnce = (...requests: (() => Promise<Answer>)[]) => Promise.all(requests.map((request) => request()));
const times = (count: number, request: () => Promise<Answer>) => Array.from({ length: count }, () => request);

/** Counts the responses by status and error code, as in `{ "201": 10, "402 insufficient_funds": 40 }`. */
function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = body?.error === undefined ? String(status) : `${status} ${body.error}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const walletOf = async (person: TestPerson) => (await person.get("/wallet")).body;
const statusOf = async (person: TestPerson, taskId: string) => (await person.get(`/tasks/${taskId}`)).body.task.status;
const eventsOf = async (taskId: string, type: string) =>
  service.services.database.query(sql`SELECT 1 FROM events WHERE task_id = ${taskId}::uuid AND type = ${type}`);

/** A race can end in several ways, so each is run several times, with new people. */
const ROUNDS = 6;

async function buyerAndBidder(cents = 100_000) {
  const [buyer, bidder] = await Promise.all([createPerson(service, { cents }), createPerson(service)]);
  return { buyer, bidder };
}

test("50 parallel posts against a balance that covers 10 create exactly 10 tasks", async () => {
  const buyer = await createPerson(service, { cents: 10_500, using: "key" });
  const answers = await atOnce(...times(50, () => buyer.post("/tasks", taskInput({ maxBudgetCents: 1_000 }))));
  expect(tally(answers)).toEqual({ "201": 10, "402 insufficient_funds": 40 });
  expect(await walletOf(buyer)).toEqual({ availableCents: 500, heldCents: 10_000 });
});

test("20 parallel awards of one task award it once", async () => {
  const { buyer, bidder } = await buyerAndBidder(10_000);
  const other = await createPerson(service);
  const task = await postTask(buyer, { maxBudgetCents: 10_000 });
  const bids = [
    await placeBid(bidder, task.id, { priceCents: 7_000 }),
    await placeBid(other, task.id, { priceCents: 9_000 }),
  ];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => buyer.post(`/tasks/${task.id}/award`, { bidId: bids[index % 2].id })),
  );
  expect(tally(answers)).toEqual({ "200": 1, "409 wrong_status": 19 });
  const awarded = answers.find(({ status }) => status === 200)?.body;
  const { bids: after } = (await buyer.get(`/tasks/${task.id}/bids`)).body;
  expect(after.map((bid: { status: string }) => bid.status).sort()).toEqual(["awarded", "rejected"]);
  expect(awarded.task.awardedBidId).toBe(awarded.awardedBid.id);
  const { priceCents } = awarded.awardedBid;
  expect(await walletOf(buyer)).toEqual({ availableCents: 10_000 - priceCents, heldCents: priceCents });
  expect(await eventsOf(task.id, "task.awarded")).toHaveLength(1);
});

test("accept racing cancel: the delivered task is accepted, whatever cancel does", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { buyer, bidder } = await buyerAndBidder(10_000);
    const { task } = await deliveredTask(buyer, bidder, { priceCents: 8_000 });
    const answers = await atOnce(
      () => buyer.post(`/tasks/${task.id}/cancel`),
      ...times(3, () => buyer.post(`/tasks/${task.id}/accept`)),
    );
    expect(tally(answers)).toEqual({ "200": 1, "409 wrong_status": 3 });
    expect(await walletOf(buyer)).toEqual({ availableCents: 2_000, heldCents: 0 });
    expect(await walletOf(bidder)).toEqual({ availableCents: 8_000, heldCents: 0 });
    expect(await eventsOf(task.id, "task.accepted")).toHaveLength(1);
  }
});

test("award racing cancel: exactly one wins, and the money matches the outcome", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { buyer, bidder } = await buyerAndBidder(10_000);
    const task = await postTask(buyer);
    const bid = await placeBid(bidder, task.id, { priceCents: 8_000 });
    const requests = [
      () => buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id }),
      () => buyer.post(`/tasks/${task.id}/cancel`),
    ];
    const answers = await atOnce(...(round % 2 === 0 ? requests : requests.toReversed()));
    expect(tally(answers)).toEqual({ "200": 1, "409 wrong_status": 1 });
    const cancelled = (await statusOf(buyer, task.id)) === "cancelled";
    const heldCents = cancelled ? 0 : 8_000;
    expect(await walletOf(buyer)).toEqual({ availableCents: 10_000 - heldCents, heldCents });
    const { bids } = (await bidder.get("/bids")).body;
    expect(bids[0].status).toBe(cancelled ? "rejected" : "awarded");
  }
});

describe("accept racing the deadline", () => {
  test("pays once, when jobs, sweeps and the buyer all act at the same time after the deadline", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { buyer, bidder } = await buyerAndBidder(10_000);
      const { task } = await deliveredTask(buyer, bidder, { priceCents: 8_000 });
      const { acceptanceDeadlineAt } = (await buyer.get(`/tasks/${task.id}`)).body.task;
      service.clock.advance(172_801);
      const [accepts] = await Promise.all([
        atOnce(...times(3, () => buyer.post(`/tasks/${task.id}/accept`))),
        acceptDelivery(service.services, { taskId: task.id }),
        sweepOnce(service.services),
        acceptDelivery(service.services, { taskId: task.id }),
        sweepOnce(service.services),
      ]);
      // The clock decides: past the deadline only the automatic acceptance counts.
      expect(tally(accepts)).toEqual({ "409 wrong_status": 3 });
      const { task: after } = (await buyer.get(`/tasks/${task.id}`)).body;
      expect(after).toMatchObject({ status: "accepted", acceptedAt: acceptanceDeadlineAt });
      expect(await walletOf(bidder)).toEqual({ availableCents: 8_000, heldCents: 0 });
      expect(await eventsOf(task.id, "task.accepted")).toHaveLength(1);
    }
  });

  test("before the deadline the buyer's accept counts, and a job that runs too early changes nothing", async () => {
    const { buyer, bidder } = await buyerAndBidder(10_000);
    const { task } = await deliveredTask(buyer, bidder, { priceCents: 8_000 });
    service.clock.advance(172_790);
    await Promise.all([acceptDelivery(service.services, { taskId: task.id }), sweepOnce(service.services)]);
    expect(await statusOf(buyer, task.id)).toBe("delivered");
    const [answer] = await Promise.all([
      buyer.post(`/tasks/${task.id}/accept`),
      acceptDelivery(service.services, { taskId: task.id }),
    ]);
    expect(answer.status).toBe(200);
    expect(await walletOf(bidder)).toEqual({ availableCents: 8_000, heldCents: 0 });
  });
});

test("withdraw racing award: the bid is withdrawn or awarded, never both", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { buyer, bidder } = await buyerAndBidder(10_000);
    const task = await postTask(buyer);
    const bid = await placeBid(bidder, task.id, { priceCents: 8_000 });
    const requests = [
      () => bidder.post(`/bids/${bid.id}/withdraw`),
      () => buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id }),
    ];
    const answers = await atOnce(...(round % 2 === 0 ? requests : requests.toReversed()));
    const withdrawn = answers[round % 2]?.status === 200;
    expect(tally(answers)).toEqual({ "200": 1, [withdrawn ? "409 bid_invalid" : "409 wrong_status"]: 1 });
    expect((await bidder.get("/bids")).body.bids[0].status).toBe(withdrawn ? "withdrawn" : "awarded");
    const { task: after } = (await buyer.get(`/tasks/${task.id}`)).body;
    expect(after.status).toBe(withdrawn ? "open" : "awarded");
    expect(after.bidCount).toBe(withdrawn ? 0 : 1);
    const heldCents = withdrawn ? 10_000 : 8_000;
    expect(await walletOf(buyer)).toEqual({ availableCents: 10_000 - heldCents, heldCents });
  }
});

test("a bid's price edit racing its award: the held amount is the price that was awarded", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { buyer, bidder } = await buyerAndBidder(10_000);
    const task = await postTask(buyer);
    const bid = await placeBid(bidder, task.id, { priceCents: 8_000 });
    const requests = [
      () => bidder.patch(`/bids/${bid.id}`, { priceCents: 9_500 }),
      () => buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id }),
    ];
    const answers = await atOnce(...(round % 2 === 0 ? requests : requests.toReversed()));
    const awarded = answers.find(({ body }) => body?.awardedBid !== undefined)?.body.awardedBid;
    const heldCents = (await bidder.get("/bids")).body.bids[0].priceCents;
    expect(awarded.priceCents).toBe(heldCents);
    expect(await walletOf(buyer)).toEqual({ availableCents: 10_000 - heldCents, heldCents });
  }
});

test("a budget edit racing a bid: either the budget changes before the bid, or the bid locks it", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { buyer, bidder } = await buyerAndBidder(10_000);
    const task = await postTask(buyer);
    const requests = [
      () => buyer.patch(`/tasks/${task.id}`, { maxBudgetCents: 5_000 }),
      () => bidder.post(`/tasks/${task.id}/bids`, { priceCents: 8_000, etaHours: 1 }),
    ];
    const answers = await atOnce(...(round % 2 === 0 ? requests : requests.toReversed()));
    const moved = answers[round % 2]?.status === 200;
    expect(tally(answers)).toEqual(
      moved ? { "200": 1, "400 price_above_budget": 1 } : { "201": 1, "400 budget_locked_by_bids": 1 },
    );
    const heldCents = moved ? 5_000 : 10_000;
    expect(await walletOf(buyer)).toEqual({ availableCents: 10_000 - heldCents, heldCents });
  }
});

test("after parallel budget edits of one task exactly its final budget is held", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const task = await postTask(buyer, { maxBudgetCents: 5_000 });
  const budgets = [1_000, 9_000, 2_000, 11_000, 3_000, 8_000, 4_000, 7_000];
  await Promise.all(budgets.map((maxBudgetCents) => buyer.patch(`/tasks/${task.id}`, { maxBudgetCents })));
  const { maxBudgetCents } = (await buyer.get(`/tasks/${task.id}`)).body.task;
  expect(await walletOf(buyer)).toEqual({ availableCents: 10_000 - maxBudgetCents, heldCents: maxBudgetCents });
});

test("parallel bids of different bidders are all stored and counted; of one bidder's, only one is", async () => {
  const { buyer, bidder } = await buyerAndBidder();
  const others = await Promise.all(Array.from({ length: 8 }, () => createPerson(service)));
  const task = await postTask(buyer);
  const bid = (person: TestPerson) => () => person.post(`/tasks/${task.id}/bids`, { priceCents: 100, etaHours: 1 });
  expect(tally(await atOnce(...others.map(bid)))).toEqual({ "201": 8 });
  expect(tally(await atOnce(...times(2, bid(bidder))))).toEqual({ "201": 1, "409 active_bid_exists": 1 });
  const { task: after, bids } = (await buyer.get(`/tasks/${task.id}`)).body;
  expect(after.bidCount).toBe(9);
  expect(bids).toHaveLength(9);
});

test("a bid racing cancel: an active bid never stands on a cancelled task", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { buyer, bidder } = await buyerAndBidder(10_000);
    const task = await postTask(buyer);
    const [bid, cancel] = await atOnce(
      () => bidder.post(`/tasks/${task.id}/bids`, { priceCents: 100, etaHours: 1 }),
      () => buyer.post(`/tasks/${task.id}/cancel`),
    );
    expect(cancel?.status).toBe(200);
    const { bids } = (await bidder.get("/bids")).body;
    expect(bids.map(({ status }: { status: string }) => status)).toEqual(bid?.status === 201 ? ["rejected"] : []);
  }
});

describe("uploads", () => {
  test("a delivery that is finalised twice at once is delivered once", async () => {
    const { buyer, bidder } = await buyerAndBidder();
    const { task, bid } = await awardedTask(buyer, bidder);
    const keys = [await upload(bidder, bid.id, "delivery"), await upload(bidder, bid.id, "delivery", "another")];
    const finalize = (storageKey: string | undefined) => () =>
      bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey });
    const answers = await atOnce(finalize(keys[0]), finalize(keys[0]), finalize(keys[1]), finalize(keys[1]));
    expect(tally(answers)).toEqual({ "201": 1, "409 wrong_status": 3 });
    const { deliveries } = (await buyer.get(`/tasks/${task.id}`)).body;
    expect(deliveries).toHaveLength(1);
    expect((await fetch(deliveries[0].downloadUrl)).status).toBe(200);
    expect(await eventsOf(task.id, "delivery.posted")).toHaveLength(1);
  });

  test("a sample that is finalised many times at once is one sample, and every call that succeeds names it", async () => {
    const { buyer, bidder } = await buyerAndBidder();
    const { task, bid } = await awardedTask(buyer, bidder);
    const storageKey = await upload(bidder, bid.id, "sample");
    const answers = await atOnce(...times(5, () => bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey })));
    expect(tally(answers)).toEqual({ "201": 5 });
    expect(new Set(answers.map(({ body }) => body.sample.id)).size).toBe(1);
    const { samples } = (await buyer.get(`/tasks/${task.id}`)).body;
    expect(samples).toHaveLength(1);
    expect((await fetch(samples[0].downloadUrl)).status).toBe(200);
  });

  test("a bid has at most 10 samples, however many are finalised at once", async () => {
    const { buyer, bidder } = await buyerAndBidder();
    const { task, bid } = await awardedTask(buyer, bidder);
    const keys = await Promise.all(
      Array.from({ length: 14 }, (_, n) => upload(bidder, bid.id, "sample", `sample ${n}`)),
    );
    const answers = await atOnce(
      ...keys.map((storageKey) => () => bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey })),
    );
    expect(tally(answers)).toEqual({ "201": 10, "400 sample_too_large": 4 });
    expect((await buyer.get(`/tasks/${task.id}`)).body.samples).toHaveLength(10);
  });
});
