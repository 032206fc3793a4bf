import { afterEach, expect, test } from "vitest";
import { sql } from "../../../server/store/connection.ts";
import { createPayee, requestPayout } from "../../factories/payouts.ts";
import { createPerson } from "../../factories/people.ts";
import { openTopup, pay, topupStatus } from "../../factories/topups.ts";
import { control, eventually } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

const pollSeconds = 2;
const service = useService({ worker: true, settings: { processorPollSeconds: pollSeconds } });

/**
 * Events are neither delivered nor, unless `listed`, read from the processor's list: only polling each object is left.
 */
async function noEvents({ listed = false } = {}): Promise<void> {
  await control(service, "POST", "faults", { name: "event_drop", share: 1 });
  await service.services.database.query(sql`
    UPDATE processor_event_reads SET next_read_at = CASE WHEN ${listed} THEN now() ELSE 'infinity' END`);
}

afterEach(() => control(service, "DELETE", "faults"));

test.each([
  ["pays", "paid", 5_000],
  ["pays_later", "paid", 5_000],
  ["pays_later_fails", "failed", 0],
])("a top-up that %s is settled although no event ever arrives", async (outcome, status, cents) => {
  await noEvents();
  const person = await createPerson(service);
  const topup = await openTopup(service, person);
  await pay(service, topup, outcome);
  await eventually(
    () => topupStatus(service, topup),
    (now) => now === status,
  );
  expect((await person.get("/wallet")).body.availableCents).toBe(cents);
});

test("a checkout page that expired is closed although no event ever arrives", async () => {
  await noEvents();
  const topup = await openTopup(service, await createPerson(service));
  await control(service, "POST", `checkout/${topup.sessionId}/expire`);
  await eventually(
    () => topupStatus(service, topup),
    (now) => now === "expired",
  );
});

test("a payment is found although the process died before the session was stored", async () => {
  await noEvents();
  const person = await createPerson(service);
  const topup = await openTopup(service, person);
  await service.services.database.query(sql`
    UPDATE topups SET session_id = NULL, next_check_at = now() WHERE id = ${topup.id}::uuid`);
  await pay(service, topup);
  await eventually(
    () => topupStatus(service, topup),
    (now) => now === "paid",
  );
  expect((await person.get("/wallet")).body.availableCents).toBe(5_000);
});

test("a payment is found even when the key of its call is too old to be used again", async () => {
  await noEvents();
  const person = await createPerson(service);
  const [paid, unpaid] = [await openTopup(service, person), await openTopup(service, person)];
  await pay(service, paid);
  await service.services.database.query(sql`
    UPDATE topups SET session_id = NULL, next_check_at = now(), created_at = now() - interval '27 hours'
    WHERE user_id = ${person.id}::uuid`);
  await eventually(
    async () => [await topupStatus(service, paid), await topupStatus(service, unpaid)].join(),
    (statuses) => statuses === "paid,expired",
  );
});

test.each([
  ["pays", "paid"],
  ["fails", "failed"],
  ["fails_after_paid", "failed"],
])("a payout to a bank that %s is settled although no event ever arrives", async (bank, status) => {
  await noEvents();
  const payee = await createPayee(service, { cents: 5_000, bank });
  await requestPayout(payee, 3_000);
  const payouts = await eventually(
    async () => (await payee.get("/payouts")).body.payouts,
    ([payout]) => payout.status === status,
  );
  expect(payouts).toHaveLength(1);
  expect((await payee.get("/wallet")).body.availableCents).toBe(status === "paid" ? 2_000 : 5_000);
});

test("a failed payout whose transfer somebody reversed by hand brings the money back to the wallet", async () => {
  const payee = await createPayee(service, { cents: 5_000, bank: "never_arrives" });
  await requestPayout(payee, 3_000);
  const [payout] = await eventually(
    async () => (await payee.get("/payouts")).body.payouts,
    ([first]) => first.status === "in_transit",
  );
  const [transfer] = await service.services.processor.findTransfers(payout.id);
  const [bankPayout] = await service.services.processor.findPayouts(payee.accountId, payout.id);
  await noEvents();
  await control(service, "POST", `payouts/${bankPayout?.id}/fail`);
  await service.services.processor.reverseTransfer({
    transferId: transfer?.transferId ?? "",
    amountCents: 3_000,
    idempotencyKey: crypto.randomUUID(),
  });
  await eventually(
    async () => (await payee.get("/payouts")).body.payouts,
    ([first]) => first.status === "failed",
  );
  expect((await payee.get("/wallet")).body.availableCents).toBe(5_000);
});

test("refunds and disputes whose events were never delivered are read from the processor's list", async () => {
  await noEvents({ listed: true });
  const person = await createPerson(service);
  const [first, second] = [await openTopup(service, person), await openTopup(service, person)];
  await pay(service, first, "refunded_half");
  await pay(service, second, "disputed_lost");
  const kinds = async () =>
    (await person.get("/wallet/ledger")).body.entries.map(({ kind }: { kind: string }) => kind).toSorted();
  const settled = await eventually(kinds, (all) => all.length === 4);
  expect(settled).toEqual(["chargeback", "topup", "topup", "topup_refund"]);
  expect((await person.get("/wallet")).body.availableCents).toBe(2_500);
});
