import type { CheckoutSession } from "../../gateways/processorRecords.ts";
import { ignored } from "../../market/eventOutcome.ts";
import { settleSession } from "../../market/topups/adopt.ts";
import { applyDispute } from "../../market/topups/chargebacks.ts";
import { findPaidTopup } from "../../market/topups/paid.ts";
import { applyRefund } from "../../market/topups/refunds.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { referenceOf } from "../compareReversals.ts";
import { type Bookkeeping, combined, groupsOf } from "./bookkeeping.ts";

const MOVEMENTS_AT_ONCE = 500;

/**
 * Books refunds and disputes of top-ups that moved the platform's balance and are not booked. `since` is in epoch seconds;
 * `missing` are the sessions of top-ups that were not credited, by payment.
 */
export async function reconcileReversals(
  services: Services,
  books: Bookkeeping,
  since: number,
  missing: ReadonlyMap<string, CheckoutSession>,
): Promise<void> {
  for (const paymentIntentId of await findUnbooked(services, since, missing)) {
    const refunds = await services.processor.findRefunds(paymentIntentId);
    const disputes = await services.processor.findDisputes(paymentIntentId);
    await books.book(`refunds and disputes of ${paymentIntentId}`, async (tx) => {
      // In a dry run, the top-up is not credited yet.
      const session = missing.get(paymentIntentId);
      if (session !== undefined) await settleSession(tx, services, session);
      const topup = await findPaidTopup(tx, paymentIntentId);
      if (topup === null) return ignored("not credited");
      const outcomes = [];
      for (const refund of refunds) outcomes.push(await applyRefund(tx, topup, refund));
      for (const { id, movements } of disputes)
        outcomes.push(await applyDispute(tx, topup, { id, paymentIntentId, movements }));
      return combined(outcomes);
    });
  }
}

/** Returns the payments of our top-ups with a refund or dispute that is not booked. */
async function findUnbooked(
  { database, processor }: Services,
  since: number,
  missing: ReadonlyMap<string, CheckoutSession>,
): Promise<Set<string>> {
  const unbooked = new Set<string>();
  for await (const transactions of groupsOf(processor.listBalanceTransactions(null, since), MOVEMENTS_AT_ONCE)) {
    const movements = transactions.flatMap((transaction) => {
      const [reference, { paymentIntentId }] = [referenceOf(transaction), transaction];
      return reference === null || paymentIntentId === null ? [] : [{ reference, paymentIntentId }];
    });
    const booked = await readBooked(database, movements);
    for (const { reference, paymentIntentId } of movements) {
      const isOurs = booked.payments.has(paymentIntentId) || missing.has(paymentIntentId);
      if (isOurs && !booked.references.has(reference)) unbooked.add(paymentIntentId);
    }
  }
  return unbooked;
}

async function readBooked(database: Connection, movements: { reference: string; paymentIntentId: string }[]) {
  const references = await database.query<{ reference: string }>(sql`
    SELECT external_ref AS reference FROM ledger_transfers
    WHERE external_ref = ANY (${movements.map(({ reference }) => reference)}::text[])`);
  const payments = await database.query<{ id: string }>(sql`
    SELECT payment_intent_id AS id FROM topups
    WHERE payment_intent_id = ANY (${movements.map(({ paymentIntentId }) => paymentIntentId)}::text[])`);
  return {
    references: new Set(references.map(({ reference }) => reference)),
    payments: new Set(payments.map(({ id }) => id)),
  };
}
