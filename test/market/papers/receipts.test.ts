import { expect, test } from "vitest";
import { makeExport } from "../../../server/market/papers/makeExport.ts";
import { numberReceipts, type Receipt } from "../../../server/market/papers/receipts.ts";
import type { Services } from "../../../server/services.ts";
import { sql } from "../../../server/store/connection.ts";
import { setFee } from "../../factories/fees.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPayee, requestPayout } from "../../factories/payouts.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { countUnnumbered, receiptNumbers } from "../../factories/receipts.ts";
import { deliveredTask, disputedTask, propose } from "../../factories/tasks.ts";
import { openTopup, paidTopup, quiet } from "../../factories/topups.ts";
import { rest } from "../../setup/client.ts";
import { eventually } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ worker: true });

/** Asks for a receipt and returns what it says. */
async function receiptOf(person: TestPerson, subject: object): Promise<Receipt> {
  const asked = await person.post("/exports", { kind: "receipt", format: "json", ...subject });
  expect([asked.status, asked.body.error]).toEqual([202, undefined]);
  const { id } = asked.body.export;
  const { body } = await eventually(
    () => person.get(`/exports/${id}`),
    (answer) => answer.body.export.status === "ready",
  );
  expect(body.export.fileName).toMatch(/^receipt-\d{4}-\d{6}\.json$/);
  const file: { receipt: Receipt } = JSON.parse(await (await fetch(body.export.downloadUrl)).text());
  return file.receipt;
}

async function acceptedTask(buyer: TestPerson, bidder: TestPerson, priceCents = 9_000) {
  const { task } = await deliveredTask(buyer, bidder, { priceCents });
  expect((await buyer.post(`/tasks/${task.id}/accept`)).status).toBe(200);
  return task;
}

test("both sides of a task have the same receipt, with the names of the payment, and no fee", async () => {
  await setFee(service, { basisPoints: 500 });
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  const task = await acceptedTask(buyer, bidder);
  for (const person of [buyer, bidder]) await person.patch("/auth/me", { displayName: "Renamed since" });
  const [one, other] = [await receiptOf(buyer, { taskId: task.id }), await receiptOf(bidder, { taskId: task.id })];
  expect(one).toEqual(other);
  expect(one).toMatchObject({ kind: "task", amountCents: 9_000, priceCents: 9_000, title: task.title });
  expect([one.payer, one.payee]).toEqual([
    { id: buyer.id, displayName: buyer.displayName },
    { id: bidder.id, displayName: bidder.displayName },
  ]);
  // As a name: the ids are random, and one in a hundred receipts has "fee" in them.
  expect(JSON.stringify(one)).not.toMatch(/"\w*fee\w*":/i);
  const { entries } = (await buyer.get("/wallet/ledger?kind=task_payment")).body;
  expect([one.paidAt, one.amountCents]).toEqual([entries[0].createdAt, -entries[0].amountCents]);
});

test("a settled task, a part that a moderator gives, a top-up and a payout have receipts of what was paid", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 100_000 }), await createPerson(service)];
  const { task: settled } = await deliveredTask(buyer, bidder, { priceCents: 8_000 });
  const { id } = await propose(bidder, settled.id, { kind: "settle", bidderCents: 3_000 });
  await buyer.post(`/agreements/${id}/accept`);
  const ofSettled = await receiptOf(bidder, { taskId: settled.id });
  expect(ofSettled).toMatchObject({ kind: "task", amountCents: 3_000, priceCents: 8_000 });
  const { task: split, dispute } = await disputedTask(buyer, bidder);
  const moderator = await createModerator(service);
  await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "split", bidderCents: 2_500 });
  expect(await receiptOf(buyer, { taskId: split.id })).toMatchObject({ amountCents: 2_500 });

  const topup = await paidTopup(service, buyer, 6_000);
  await quiet(service);
  expect(await receiptOf(buyer, { topupId: topup.id })).toMatchObject({
    ...{ kind: "topup", amountCents: 6_000, payee: null, payer: { displayName: buyer.displayName } },
  });
  const payee = await createPayee(service);
  await requestPayout(payee, 2_000);
  const [payout] = await eventually(
    async () => (await payee.get("/payouts")).body.payouts,
    ([first]) => first.status === "paid",
  );
  expect(await receiptOf(payee, { payoutId: payout.id })).toMatchObject({
    ...{ kind: "payout", amountCents: 2_000, payer: null, payee: { displayName: payee.displayName } },
  });
});

test("another's is not found, and what was not paid has none", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 100_000 }), await createPerson(service)];
  const stranger = await createPerson(service);
  const paid = await acceptedTask(buyer, bidder);
  const { task: unpaid } = await deliveredTask(buyer, bidder);
  const { task: refunded, dispute } = await disputedTask(buyer, bidder);
  await (await createModerator(service)).post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" });
  const topup = await openTopup(service, buyer);
  const refusal = async (person: TestPerson, subject: object) => {
    const { status, body } = await person.post("/exports", { kind: "receipt", format: "pdf", ...subject });
    return [status, body.error];
  };
  expect(await refusal(stranger, { taskId: paid.id })).toEqual([404, "not_found"]);
  expect(await refusal(stranger, { topupId: topup.id })).toEqual([404, "not_found"]);
  expect(await refusal(buyer, { payoutId: topup.id })).toEqual([404, "not_found"]);
  expect(await refusal(bidder, { taskId: unpaid.id })).toEqual([409, "wrong_status"]);
  expect(await refusal(buyer, { taskId: refunded.id })).toEqual([409, "wrong_status"]);
  expect(await refusal(buyer, { topupId: topup.id })).toEqual([409, "wrong_status"]);
  expect(await refusal(buyer, {})).toEqual([400, "invalid_input"]);
  expect(await refusal(buyer, { taskId: paid.id, topupId: topup.id })).toEqual([400, "invalid_input"]);
  expect(await refusal(buyer, { taskId: paid.id, month: "2026-11" })).toEqual([400, "invalid_input"]);
  // A note of what was given back goes away, and takes no number.
  await eventually(
    () => countUnnumbered(service),
    (count) => count === 0,
  );
  const found = await service.services.database.query(sql`SELECT FROM receipts WHERE task_id = ${refunded.id}::uuid`);
  expect(found).toEqual([]);
});

test("a receipt that is made again has the same number and content, also after the operator has changed", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  const task = await acceptedTask(buyer, bidder);
  const first = await receiptOf(buyer, { taskId: task.id });
  const { body } = await buyer.post("/exports", { kind: "receipt", format: "json", taskId: task.id });
  const operator = { name: "Another", address: "Elsewhere", taxId: "1" };
  const changed: Services = {
    ...service.services,
    settings: { ...service.services.settings, operator, operatorTimeZone: "Asia/Tokyo" },
  };
  await makeExport(changed, { exportId: body.export.id });
  const { body: made } = await eventually(
    () => buyer.get(`/exports/${body.export.id}`),
    (answer) => answer.body.export.status === "ready",
  );
  expect(await (await fetch(made.export.downloadUrl)).json()).toEqual({ receipt: first });
});

test("what was paid before there were receipts is numbered when its receipt is asked for", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  await service.owner.pool.query("ALTER TABLE tasks DISABLE TRIGGER tasks_paid");
  const task = await acceptedTask(buyer, bidder);
  await service.owner.pool.query("ALTER TABLE tasks ENABLE TRIGGER tasks_paid");
  expect(await receiptOf(bidder, { taskId: task.id })).toMatchObject({ amountCents: 9_000 });
});

test("a dry run of a payment takes no number", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  const { task } = await deliveredTask(buyer, bidder);
  await eventually(
    () => countUnnumbered(service),
    (count) => count === 0,
  );
  const before = (await receiptNumbers(service)).length;
  const dry = await rest(service.url, "POST", `/tasks/${task.id}/accept`, {
    ...{ credentials: buyer.session, headers: { "Dry-Run": "true" } },
  });
  expect(dry.status).toBe(200);
  await numberReceipts(service.services);
  expect((await receiptNumbers(service)).length).toBe(before);
});

test("numbers have no gap and no repetition from one batch to the next, whoever makes it", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 500_000 }), await createPerson(service)];
  const client = await service.owner.pool.connect();
  const paid: string[] = [];
  const noted = () =>
    service.services.database.query(sql`SELECT FROM receipts WHERE number IS NULL AND payer_id = ${buyer.id}::uuid`);
  // Whoever numbers waits for this lock, so that there is something for several batches.
  await client.query("SELECT pg_advisory_lock(hashtextextended('receipts', 0))");
  try {
    for (let count = 0; count < 11; count++) paid.push((await acceptedTask(buyer, bidder)).id);
    expect((await noted()).length).toBe(11);
  } finally {
    await client.query("SELECT pg_advisory_unlock_all()");
    client.release();
  }
  const batch = (size: number) => sql`SELECT number_receipts('UTC', '{}'::jsonb, ${size}::integer)`;
  await Promise.all([1, 4, 2, 3, 2, 4].map((size) => service.services.database.query(batch(size))));
  await eventually(
    () => countUnnumbered(service),
    (count) => count === 0,
  );
  const after = await receiptNumbers(service);
  expect(after.map(({ number }) => number)).toEqual(after.map((_, index) => index + 1));
  const ofThese = await service.services.database.query<{ id: string }>(sql`
    SELECT task_id AS id FROM receipts WHERE task_id = ANY (${paid}::uuid[]) ORDER BY year, number`);
  expect(ofThese.map(({ id }) => id)).toEqual(paid);
});

test("neither the service nor an operator changes or deletes a receipt", async () => {
  for (const statement of ["UPDATE receipts SET number = number", "DELETE FROM receipts", "TRUNCATE receipts"]) {
    await expect(service.owner.pool.query(statement)).rejects.toThrow("append-only");
  }
});
