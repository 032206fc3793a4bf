import { expect, test } from "vitest";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { paidTopup, quiet } from "../factories/topups.ts";
import { control } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ worker: true });

interface LogEvent {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came, and asserts what it is
  data: any;
}

/** Returns what the log has about the person's money. */
async function moneyOf(person: TestPerson): Promise<LogEvent[]> {
  await quiet(service);
  return (await person.get("/events?types=topup.credited,topup.reversed,payout.updated")).body.events;
}

test("a top-up's credit, refund, failed refund and chargeback are in its owner's log, with what they moved", async () => {
  const [person, stranger] = [await createPerson(service), await createPerson(service)];
  const { id, sessionId } = await paidTopup(service, person, 6_000);
  await quiet(service);
  const { refund } = await control<{ refund: { id: string } }>(service, "POST", `charges/${sessionId}/refund`, {
    amountCents: 2_000,
  });
  await quiet(service);
  await control(service, "POST", `refunds/${refund.id}/fail`);
  await quiet(service);
  const { dispute } = await control<{ dispute: { id: string } }>(service, "POST", `charges/${sessionId}/dispute`);
  await quiet(service);
  await control(service, "POST", `disputes/${dispute.id}/close`, { outcome: "won" });
  const events = await moneyOf(person);
  for (const { data } of events) expect(data.topup).toMatchObject({ id, sessionId, amountCents: 6_000 });
  expect(events.map(({ type, data }) => [type, data.reversal?.kind, data.reversal?.amountCents])).toEqual([
    ["topup.credited", undefined, undefined],
    ["topup.reversed", "topup_refund", -2_000],
    ["topup.reversed", "topup_refund", 2_000],
    ["topup.reversed", "chargeback", -6_000],
    ["topup.reversed", "chargeback", 6_000],
  ]);
  expect(await moneyOf(stranger)).toEqual([]);
});

test.each([
  ["pays", "paid"],
  ["fails", "failed"],
])("each status of a payout that %s is in its owner's log, and ends with %s", async (bank, last) => {
  const payee = await createPayee(service, { cents: 5_000, bank });
  await requestPayout(payee, 3_000);
  await quiet(service);
  const [payout] = (await payee.get("/payouts")).body.payouts;
  const events = await moneyOf(payee);
  expect(events.every(({ type, data }) => type === "payout.updated" && data.payout.id === payout.id)).toBe(true);
  const statuses = events.map(({ data }) => data.payout.status);
  expect([statuses[0], statuses.at(-1), payout.status]).toEqual(["pending", last, last]);
  expect(new Set(statuses).size).toBe(statuses.length);
  expect(await moneyOf(await createPerson(service))).toEqual([]);
});
