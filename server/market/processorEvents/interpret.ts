import { z } from "zod";
import type { ProcessorEvent } from "../../gateways/processorRecords.ts";
import { Related } from "../../gateways/snapshots.ts";
import type { Services } from "../../services.ts";
import type { Transaction } from "../../store/database.ts";
import { applied, type EventOutcome, ignored, notOurs, unexpected } from "../eventOutcome.ts";
import { accountOfEvent } from "../payouts/accountEvents.ts";
import { syncPayoutAccount } from "../payouts/accounts.ts";
import { applyPayoutEvent, applyTransferEvent } from "../payouts/events.ts";
import { interpretCheckout } from "../topups/adopt.ts";
import { applyDispute, readDispute } from "../topups/chargebacks.ts";
import { type PaidTopup, settlePaidTopup } from "../topups/paid.ts";
import { applyRefund, readRefund } from "../topups/refunds.ts";

/** What an event does inside the transaction that marks it as processed. */
export type Effect = (tx: Transaction) => Promise<EventOutcome> | EventOutcome;

/**
 * Finds out what an event means, fetching what the event itself does not contain. Returns null when that cannot be
 * known yet, because the payment behind a refund or dispute has not been credited. Throws ProcessorUnavailable or
 * ProcessorRefused.
 */
export async function interpretEvent(services: Services, event: ProcessorEvent): Promise<Effect | null> {
  const { type, data, account } = event;
  // Charges, refunds, disputes and transfers on a connected account are not our money, even if they contain our ids.
  if (account !== null && /^(checkout\.session|charge|refund|transfer)\./.test(type)) return () => notOurs;
  if (type.startsWith("checkout.session.")) return interpretCheckout(services, event);
  if (type.startsWith("refund.") || type === "charge.refund.updated") {
    const refund = readRefund(data);
    return refund === null ? notA("refund") : onTopup(services, refund.paymentIntentId, refund, applyRefund);
  }
  if (type === "charge.refunded") return interpretRefundedCharge(services, data);
  if (type.startsWith("charge.dispute.")) {
    const dispute = readDispute(data);
    return dispute === null ? notA("dispute") : onTopup(services, dispute.paymentIntentId, dispute, applyDispute);
  }
  if (type.startsWith("payout.")) return (tx) => applyPayoutEvent(tx, account, data, services);
  if (type.startsWith("transfer.")) return (tx) => applyTransferEvent(tx, data, services);
  const accountId = accountOfEvent(event);
  if (accountId !== null) {
    const synced = await syncPayoutAccount(services, accountId);
    return () => (synced === null ? notOurs : applied(synced.active ? "active" : "not active"));
  }
  return () => ignored("unknown type");
}

const notA =
  (noun: string): Effect =>
  () =>
    unexpected(`not a ${noun}`);

const ChargeSnapshot = z.object({ payment_intent: Related });

/** The charge contains only the sum of its refunds, but each refund is booked separately, so they are fetched. */
async function interpretRefundedCharge(services: Services, data: unknown): Promise<Effect | null> {
  const charge = ChargeSnapshot.safeParse(data).data;
  if (charge === undefined) return notA("charge");
  const refunds = charge.payment_intent === null ? [] : await services.processor.findRefunds(charge.payment_intent);
  return onTopup(services, charge.payment_intent, refunds, async (tx, topup, all) => {
    const outcomes: EventOutcome[] = [];
    for (const refund of all) outcomes.push(await applyRefund(tx, topup, refund));
    const detail = outcomes.map((outcome) => outcome.detail).join(", ") || "nothing moved";
    return outcomes.some(({ kind }) => kind === "applied") ? applied(detail) : ignored(detail);
  });
}

/**
 * Returns the effect on the top-up that a payment intent paid for. That payment is credited first; null if it cannot be
 * yet.
 */
async function onTopup<Update>(
  services: Services,
  paymentIntentId: string | null,
  update: Update,
  apply: (tx: Transaction, topup: PaidTopup, update: Update) => Promise<EventOutcome>,
): Promise<Effect | null> {
  const topup = paymentIntentId === null ? "notOurs" : await settlePaidTopup(services, paymentIntentId);
  if (topup === "unsettled") return null;
  return topup === "notOurs" ? () => notOurs : (tx) => apply(tx, topup, update);
}
