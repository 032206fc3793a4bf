import { expect, onTestFinished, test } from "vitest";
import { createModerator } from "../../factories/moderators.ts";
import { createPayee, requestPayout } from "../../factories/payouts.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, deliveredTask, disputedTask, postTask } from "../../factories/tasks.ts";
import { openTopup, paidTopup, pay, quiet } from "../../factories/topups.ts";
import { control, eventually } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ worker: true, settings: { processorPollSeconds: 4, deliveryGraceSeconds: 60 } });

interface Entry {
  kind: string;
  bucket: string;
  amountCents: number;
  taskId: string | null;
  bidId: string | null;
  externalRef: string | null;
}

/** Returns the whole history, oldest first, and asserts that it adds up to the wallet. */
async function storyOf(person: TestPerson): Promise<Entry[]> {
  const { entries } = (await person.get("/wallet/ledger?limit=100")).body;
  const sum = (bucket: string) =>
    entries
      .filter((entry: Entry) => entry.bucket === bucket)
      .reduce((cents: number, entry: Entry) => cents + entry.amountCents, 0);
  expect((await person.get("/wallet")).body).toEqual({ availableCents: sum("available"), heldCents: sum("held") });
  return entries.toReversed();
}

const line = ({ kind, bucket, amountCents }: Entry) => `${kind} ${bucket} ${amountCents}`;

test("an entry names the top-up or payout that a receipt is asked by, and says whether there is one yet", async () => {
  const [payee, bidder] = [await createPayee(service), await createPerson(service)];
  const topup = await paidTopup(service, payee, 20_000);
  await quiet(service);
  const { task } = await deliveredTask(payee, bidder);
  await payee.post(`/tasks/${task.id}/accept`);
  const entries = async (person: TestPerson, kind: string) =>
    (await person.get(`/wallet/ledger?kind=${kind}`)).body.entries;
  const none = { topupId: null, payoutId: null };
  expect(await entries(payee, "topup")).toMatchObject([
    { ...none, topupId: topup.id, hasReceipt: true },
    // The factory's money has no top-up.
    { ...none, hasReceipt: false },
  ]);
  expect(await entries(payee, "hold_release")).toMatchObject(Array(2).fill({ ...none, hasReceipt: false }));
  expect(await entries(payee, "task_payment")).toMatchObject([{ ...none, taskId: task.id, hasReceipt: true }]);
  expect(await entries(bidder, "task_earning")).toMatchObject([{ ...none, taskId: task.id, hasReceipt: true }]);

  await control(service, "POST", "faults", { name: "server_error", share: 1 });
  onTestFinished(async () => void (await control(service, "DELETE", "faults")));
  await requestPayout(payee, 1_000);
  const [payout] = (await payee.get("/payouts")).body.payouts;
  expect(await entries(payee, "payout")).toMatchObject([{ ...none, payoutId: payout.id, hasReceipt: false }]);
  await control(service, "DELETE", "faults");
  const [paid] = await eventually(
    () => entries(payee, "payout"),
    ([entry]) => entry.hasReceipt,
  );
  for (const [person, subject] of [
    [payee, { topupId: topup.id }],
    [payee, { payoutId: paid.payoutId }],
    [bidder, { taskId: task.id }],
  ] as const) {
    expect((await person.post("/exports", { kind: "receipt", format: "pdf", ...subject })).status).toBe(202);
  }
});

test("a buyer can follow each cent: topped up, held, returned, paid, taken back, owed and paid off", async () => {
  const buyer = await createPerson(service);
  const bidder = await createPerson(service);
  const first = await paidTopup(service, buyer, 20_000);
  await quiet(service);
  const cancelled = await postTask(buyer, { maxBudgetCents: 1_000 });
  await buyer.post(`/tasks/${cancelled.id}/cancel`);
  const { task, bid } = await deliveredTask(buyer, bidder, { maxBudgetCents: 10_000, priceCents: 8_000 });
  await buyer.post(`/tasks/${task.id}/accept`);
  const refund = await control<{ refund: { id: string } }>(service, "POST", `charges/${first.sessionId}/refund`, {
    amountCents: 15_000,
  });
  await quiet(service);
  const second = await openTopup(service, buyer, 5_000);
  await pay(service, second);
  await quiet(service);

  const only = async (filters: string) =>
    (await buyer.get(`/wallet/ledger?${filters}`)).body.entries.toReversed().map(line);
  expect(await only("kind=hold&bucket=held")).toEqual(["hold held 1000", "hold held 10000"]);
  expect(await only("kind=topup,hold_release&bucket=available&limit=2")).toEqual([
    "hold_release available 2000",
    "topup available 5000",
  ]);

  const story = await storyOf(buyer);
  expect(story.map(line)).toEqual([
    "topup available 20000",
    "hold available -1000",
    "hold held 1000",
    "hold_release available 1000",
    "hold_release held -1000",
    "hold available -10000",
    "hold held 10000",
    "hold_release available 2000",
    "hold_release held -2000",
    "task_payment held -8000",
    "topup_refund available -12000",
    "topup available 5000",
    "adjustment available -3000",
  ]);
  for (const entry of story) {
    if (entry.kind.startsWith("hold") || entry.kind.startsWith("task")) expect(entry.taskId).not.toBeNull();
    else expect(entry.externalRef).not.toBeNull();
  }
  expect(story[7]).toMatchObject({ taskId: task.id, bidId: bid.id });
  expect(story[9]).toMatchObject({ taskId: task.id, bidId: bid.id });
  expect(story[10]).toMatchObject({ externalRef: `refund:${refund.refund.id}` });
  // The payment of the debt names what caused it.
  expect(story[12]?.externalRef).toMatch(new RegExp(`^debt:refund:${refund.refund.id}:\\d+$`));
  expect((await storyOf(bidder)).map(({ kind, bidId }) => ({ kind, bidId }))).toEqual([
    { kind: "task_earning", bidId: bid.id },
  ]);
});

test("a payee can follow a payout and its return, a chargeback and its reinstatement", async () => {
  const payee = await createPayee(service, { cents: 0 });
  const topup = await paidTopup(service, payee, 10_000);
  await quiet(service);
  await requestPayout(payee, 1_313);
  const [payout] = await eventually(
    async () => (await payee.get("/payouts")).body.payouts,
    ([first]) => first.status === "failed",
  );
  const { dispute } = await control<{ dispute: { id: string } }>(service, "POST", `charges/${topup.sessionId}/dispute`);
  await quiet(service);
  await control(service, "POST", `disputes/${dispute.id}/close`, { outcome: "won" });
  await quiet(service);

  const story = await storyOf(payee);
  expect(story.map(line)).toEqual([
    "topup available 10000",
    "payout available -1313",
    "payout_reversal available 1313",
    "chargeback available -10000",
    "chargeback available 10000",
  ]);
  expect(story.map(({ externalRef }) => externalRef)).toEqual([
    expect.stringMatching(/^pi_/),
    `payout:${payout.id}`,
    `payout:${payout.id}:reversal`,
    expect.stringMatching(new RegExp(`^dispute:${dispute.id}:txn_`)),
    expect.stringMatching(new RegExp(`^dispute:${dispute.id}:txn_`)),
  ]);
});

test("several debts are paid off oldest first, and each payment names its debt", async () => {
  const person = await createPerson(service);
  const { database } = service.services;
  await database.transaction((tx) => tx.ledger.clawBack(person.id, "chargeback", 300, "test debt 1"));
  await database.transaction((tx) => tx.ledger.clawBack(person.id, "topup_refund", 500, "test debt 2"));
  for (const [number, cents] of [200, 200, 1_000].entries()) {
    await database.transaction((tx) => tx.ledger.deposit(person.id, "topup", cents, `test credit ${number}`));
  }
  const story = (await storyOf(person)).filter(({ kind }) => kind === "adjustment");
  expect(story.map(({ amountCents, externalRef }) => `${amountCents} ${externalRef?.replace(/:\d+$/, "")}`)).toEqual([
    "-200 debt:test debt 1",
    "-100 debt:test debt 1",
    "-100 debt:test debt 2",
    "-400 debt:test debt 2",
  ]);
  expect((await person.get("/wallet")).body.availableCents).toBe(600);
});

test("an award at the full budget returns nothing, and the hold names its task", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const { task } = await awardedTask(buyer, await createPerson(service), {
    maxBudgetCents: 10_000,
    priceCents: 10_000,
  });
  const story = await storyOf(buyer);
  expect(story.slice(1).map(({ taskId }) => taskId)).toEqual([task.id, task.id]);
});

test("the entries of a split dispute and of an expired task name the task on both sides, and after the award its bid", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const bidder = await createPerson(service);
  const moderator = await createModerator(service);
  const { task, bid, dispute } = await disputedTask(buyer, bidder, { maxBudgetCents: 5_000, priceCents: 5_000 });
  await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "split", bidderCents: 2_000 });
  const late = await awardedTask(buyer, bidder, { maxBudgetCents: 3_000, priceCents: 3_000 });
  service.clock.advance(3 * 86_400);
  await eventually(
    async () => (await buyer.get(`/tasks/${late.task.id}`)).body.task.status,
    (status) => status === "expired",
  );

  const told = (entry: Entry) => `${line(entry)} ${entry.bidId}`;
  const about = (story: Entry[], taskId: string) => story.filter((entry) => entry.taskId === taskId).map(told);
  const story = await storyOf(buyer);
  expect(about(story, task.id)).toEqual([
    "hold available -5000 null",
    "hold held 5000 null",
    `dispute_refund available 3000 ${bid.id}`,
    `dispute_refund held -3000 ${bid.id}`,
    `task_payment held -2000 ${bid.id}`,
  ]);
  expect(about(story, late.task.id)).toEqual([
    "hold available -3000 null",
    "hold held 3000 null",
    `hold_release available 3000 ${late.bid.id}`,
    `hold_release held -3000 ${late.bid.id}`,
  ]);
  expect(about(await storyOf(bidder), task.id)).toEqual([`task_earning available 2000 ${bid.id}`]);
});
