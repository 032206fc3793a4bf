import { z } from "zod";
import { book } from "../model/books.ts";
import {
  bankAccounts,
  callFaults,
  checkoutOutcomes,
  eventFaults,
  onboardingOutcomes,
  payoutAmounts,
} from "../model/choices.ts";
import { queueDelivery } from "../model/events.ts";
import { clearFaults, listFaults, setFault } from "../model/faults.ts";
import { Refusal } from "../model/refusal.ts";
import { readSchedule } from "../model/schedule.ts";
import type { World } from "../model/world.ts";
import { setCapabilities } from "../resources/accounts.ts";
import { expireSession, paySession } from "../resources/checkout.ts";
import { closeDispute, openDispute } from "../resources/disputes.ts";
import { onboard } from "../resources/onboarding.ts";
import { changePayout } from "../resources/payouts.ts";
import { failRefund, refund } from "../resources/refunds.ts";
import { nameOf, type TestCall, testCall } from "./testCall.ts";

const nothing = z.strictObject({});

/** Everything a script can do without a browser. Bodies are JSON; `:id` in a path is an object's id. */
export const testCalls: TestCall[] = [
  testCall("GET /test", "Lists all calls and names, like the start page.", nothing, () => ({
    calls: testCalls.map(({ method, path, description }) => ({ method, path, description })),
    checkoutOutcomes,
    onboardingOutcomes,
    bankAccounts,
    payoutAmounts,
    callFaults,
    eventFaults,
  })),
  testCall("GET /test/schedule", "Says how much is due now, and when the next thing falls due.", nothing, readSchedule),
  testCall(
    "POST /test/checkout/:id/pay",
    "Pays a session; outcome is one of the checkout outcomes.",
    z.strictObject({ outcome: nameOf(checkoutOutcomes).default("pays") }),
    (world, id, { outcome }) => {
      const successUrl = paySession(world, id, outcome);
      return { session: world.store.get("checkout.session", id), declined: successUrl === null, successUrl };
    },
  ),
  testCall("POST /test/checkout/:id/expire", "Expires an open session.", nothing, (world, id) => ({
    session: expireSession(world, id),
  })),
  testCall(
    "POST /test/charges/:id/refund",
    "Refunds a charge, in full or amountCents of it. The id can also be a session's or a payment intent's.",
    z.strictObject({ amountCents: z.int().positive().optional() }),
    (world, id, { amountCents }) => ({ refund: refund(world, chargeOf(world, id), amountCents) }),
  ),
  testCall("POST /test/refunds/:id/fail", "Fails a refund, as if the bank had returned it.", nothing, (world, id) => ({
    refund: failRefund(world, id),
  })),
  testCall(
    "POST /test/charges/:id/dispute",
    "Disputes a charge. The id can also be a session's or a payment intent's.",
    nothing,
    (world, id) => ({ dispute: openDispute(world, chargeOf(world, id)) }),
  ),
  testCall(
    "POST /test/disputes/:id/close",
    "Closes a dispute; outcome is won or lost.",
    z.strictObject({ outcome: z.enum(["won", "lost"]) }),
    (world, id, { outcome }) => ({ dispute: closeDispute(world, id, outcome) }),
  ),
  testCall(
    "POST /test/accounts/:id/onboard",
    "Onboards a connected account; outcome and bank have the names on the onboarding page.",
    z.strictObject({
      outcome: nameOf(onboardingOutcomes).default("finishes"),
      bank: nameOf(bankAccounts).default("pays"),
    }),
    (world, id, { outcome, bank }) => {
      onboard(world, id, outcome, bank);
      return { account: world.store.get("v2.core.account", id) };
    },
  ),
  testCall(
    "POST /test/accounts/:id/capabilities",
    "Sets the status of an account's capabilities: active, pending, restricted or rejected.",
    z.strictObject({ status: z.enum(["active", "pending", "restricted", "rejected"]) }),
    (world, id, { status }) => ({ account: setCapabilities(world, id, status) }),
  ),
  testCall("POST /test/payouts/:id/leave", "Sends a pending payout.", nothing, (world, id) => ({
    payout: changePayout(world, id, "in_transit"),
  })),
  testCall("POST /test/payouts/:id/pay", "Marks a payout as paid.", nothing, (world, id) => ({
    payout: changePayout(world, id, "paid"),
  })),
  testCall(
    "POST /test/payouts/:id/fail",
    "Fails a payout, even one that was reported as paid.",
    nothing,
    (world, id) => ({
      payout: changePayout(world, id, "failed"),
    }),
  ),
  testCall("POST /test/payouts/:id/cancel", "Cancels a pending payout.", nothing, (world, id) => ({
    payout: changePayout(world, id, "canceled"),
  })),
  testCall(
    "POST /test/balance",
    "Adds amountCents (negative to withdraw) to the platform's balance.",
    z.strictObject({
      amountCents: z.int(),
      currency: z
        .string()
        .regex(/^[a-z]{3}$/)
        .default("usd"),
    }),
    (world, _id, { amountCents, currency }) => ({
      balanceTransaction: book(world, { type: "topup", amountCents, currency, source: null }),
    }),
  ),
  testCall("GET /test/events", "Counts the delivered events and lists the pending ones.", nothing, (world) => ({
    delivered: world.store.rows("select count(*) as count from deliveries where delivered_ms is not null")[0]?.count,
    pending: world.store.rows("select event_id, attempts, next_attempt_ms from deliveries where delivered_ms is null"),
  })),
  testCall("POST /test/events/:id/resend", "Sends an event again.", nothing, (world, id) => {
    if (world.store.findAny(id) === undefined) throw new Refusal(404, { message: `No such event: ${id}` });
    queueDelivery(world, id);
    return { eventId: id };
  }),
  testCall("GET /test/faults", "Lists all faults and how often each has hit.", nothing, (world) => ({
    faults: listFaults(world),
  })),
  testCall(
    "POST /test/faults",
    "Sets a fault for the next N or a random share (0 to 1). call limits it to calls that start with this text.",
    z.strictObject({
      name: nameOf([...callFaults, ...eventFaults]),
      next: z.int().min(0).default(0),
      share: z.number().min(0).max(1).default(0),
      call: z.string().optional(),
    }),
    (world, _id, { call, ...fault }) => {
      setFault(world, call === undefined ? fault : { ...fault, call });
      return { faults: listFaults(world) };
    },
  ),
  testCall("DELETE /test/faults", "Turns off all faults; the counts are kept.", nothing, (world) => {
    clearFaults(world);
    return { faults: listFaults(world) };
  }),
];

/** Returns the id of the charge that belongs to a session or a payment intent; any other id is returned unchanged. */
function chargeOf(world: World, id: string): string {
  const intentId = world.store.find("checkout.session", id)?.payment_intent ?? id;
  const intent = world.store.find("payment_intent", String(intentId));
  return String(intent?.latest_charge ?? id);
}
