/** Refusals that name what exists already, so that a caller whose response was lost can go on. */
import { expect, test } from "vitest";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("a second bid is refused with the id of the active one", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const bidder = await createPerson(service);
  const task = await postTask(buyer);
  const withdrawn = await placeBid(bidder, task.id);
  await bidder.post(`/bids/${withdrawn.id}/withdraw`);
  const bid = await placeBid(bidder, task.id);
  const again = await bidder.post(`/tasks/${task.id}/bids`, { priceCents: 1, etaHours: 1 });
  expectError(again, "active_bid_exists");
  expect(again.body.bidId).toBe(bid.id);
});

test("a refusal for lack of money says how much is needed and how much there is", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const refused = await buyer.post("/tasks", taskInput({ maxBudgetCents: 10_001 }));
  expectError(refused, "insufficient_funds");
  expect(refused.body).toMatchObject({ neededCents: 10_001, availableCents: 10_000 });
  const task = await postTask(buyer, { maxBudgetCents: 4_000 });
  const increase = await buyer.patch(`/tasks/${task.id}`, { maxBudgetCents: 10_500 });
  expectError(increase, "insufficient_funds");
  expect(increase.body).toMatchObject({ neededCents: 6_500, availableCents: 6_000 });
  const payee = await createPayee(service, { cents: 5_000 });
  const payout = await payee.post("/payouts", { amountCents: 5_001 });
  expectError(payout, "insufficient_funds");
  expect(payout.body).toMatchObject({ neededCents: 5_001, availableCents: 5_000 });
});

test("what the caller has done already is refused as done", async () => {
  const buyer = await createPerson(service, { cents: 50_000 });
  const bidder = await createPerson(service);
  const { task, bid } = await deliveredTask(buyer, bidder);
  await buyer.post(`/tasks/${task.id}/accept`);
  const cancelled = await postTask(buyer);
  const withdrawn = await placeBid(bidder, cancelled.id);
  await bidder.post(`/bids/${withdrawn.id}/withdraw`);
  await buyer.post(`/tasks/${cancelled.id}/cancel`);
  const open = await postTask(buyer);
  const chosen = await placeBid(bidder, open.id);
  await buyer.post(`/tasks/${open.id}/award`, { bidId: chosen.id });

  const refusals = [
    [await buyer.post(`/tasks/${task.id}/accept`), "the task is accepted"],
    [await buyer.post(`/tasks/${cancelled.id}/cancel`), "the task is cancelled"],
    [await bidder.post(`/bids/${withdrawn.id}/withdraw`), "the bid is withdrawn"],
    [await buyer.post(`/tasks/${open.id}/award`, { bidId: chosen.id }), `the task is awarded to the bid ${chosen.id}`],
  ] as const;
  for (const [answer, what] of refusals) {
    expectError(answer, "wrong_status");
    expect(answer.body.message).toBe(`This has been done already: ${what}.`);
  }
  const other = await buyer.post(`/tasks/${task.id}/cancel`);
  expect(other.body.message).not.toContain("already");
  expect(bid.status).toBe("awarded");
});

test("a payout can be read by its owner, and shows the entry that its request returned", async () => {
  const payee = await createPayee(service);
  const pendingLedgerId = await requestPayout(payee, 2_000);
  const [listed] = (await payee.get("/payouts")).body.payouts;
  const read = await payee.get(`/payouts/${listed.id}`);
  expect([read.status, read.body]).toEqual([200, { payout: listed }]);
  expect(read.body.payout).toMatchObject({ amountCents: 2_000, status: "pending", pendingLedgerId });
  expectError(await (await createPerson(service)).get(`/payouts/${listed.id}`), "not_found");
  expectError(await payee.get(`/payouts/${crypto.randomUUID()}`), "not_found");
});
