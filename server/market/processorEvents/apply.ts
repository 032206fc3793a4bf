import { z } from "zod";
import { type ProcessorEvent, ProcessorRefused, ProcessorUnavailable } from "../../gateways/processor.ts";
import { Related } from "../../gateways/snapshots.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { accountOfEvent } from "../payouts/accountEvents.ts";
import { syncPayoutAccount } from "../payouts/accounts.ts";
import { applyPayout, applyTransfer } from "../payouts/events.ts";
import { applyDispute, readDispute } from "../topups/chargebacks.ts";
import { settlePaidTopup } from "../topups/paid.ts";
import { applyRefund, readRefund } from "../topups/refunds.ts";
import { applyCheckout, interpretCheckout } from "../topups/settle.ts";

/** As the intake stored it, a ProcessorEvent. */
const StoredEvent = z.object({
  id: z.string(),
  type: z.string(),
  account: z.string().nullable(),
  data: z.unknown(),
  relatedObjectId: z.string().nullable(),
});

/** What an event does in the transaction that marks it as done; it gives a word on the outcome. */
type Effect = (tx: Transaction) => Promise<string> | string;

/**
 * Does what a stored event says, and marks it as done in the same transaction. What must be fetched is fetched before
 * that. Events come in any order and any number of times, and each effect is made so that this does not matter. What is
 * not understood is kept and left alone. While the processor does not answer, or the payment behind a refund or
 * dispute is not credited, the event stays for a later sweep.
 */
export async function applyProcessorEvent(
  services: Services,
  { eventId }: JobPayload<"applyProcessorEvent">,
): Promise<void> {
  try {
    await applyOnce(services, eventId);
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error;
    services.log.warn({ eventId, error }, "the processor does not answer; the event waits");
  }
}

async function applyOnce(services: Services, eventId: string): Promise<void> {
  const { database, log } = services;
  const [stored] = await database.query<{ payload: unknown }>(sql`
    UPDATE processor_events SET attempts = attempts + 1,
      next_attempt_at = clock_timestamp() + least(5 * power(2, least(attempts, 10)), 3600) * interval '1 second'
    WHERE id = ${eventId} AND processed_at IS NULL RETURNING payload`);
  if (!stored) return;
  const effect = await interpretEvent(services, StoredEvent.parse(stored.payload)).catch((error: unknown): Effect => {
    if (error instanceof ProcessorRefused) return () => `unexpected: the processor refused: ${error.message}`;
    throw error;
  });
  if (effect === null) return log.warn({ eventId }, "the payment behind an event is not credited yet; the event waits");
  await database.transaction(async (tx) => {
    const [row] = await tx.query(sql`
      SELECT id FROM processor_events WHERE id = ${eventId} AND processed_at IS NULL FOR UPDATE`);
    if (!row) return;
    const outcome = await effect(tx);
    if (outcome.startsWith("unexpected")) log.error({ eventId, outcome }, "a processor event does not fit our records");
    await tx.query(sql`
      UPDATE processor_events SET processed_at = clock_timestamp(), outcome = ${outcome} WHERE id = ${eventId}`);
  });
}

/** Finds out what an event means, and fetches what it leaves open. Null when that is not clear yet. */
async function interpretEvent(services: Services, event: ProcessorEvent): Promise<Effect | null> {
  const { type, data, account } = event;
  // Charged, refunded, disputed or transferred on a connected account, it is not our money, whichever ids it names.
  if (account !== null && /^(checkout\.session|charge|refund|transfer)\./.test(type)) return () => "not ours";
  if (type.startsWith("checkout.session.")) {
    const news = await interpretCheckout(services, event);
    return news === null ? notA("checkout session") : (tx) => applyCheckout(tx, news);
  }
  if (type.startsWith("refund.") || type === "charge.refund.updated") {
    const refund = readRefund(data);
    return refund === null ? notA("refund") : onTopup(services, refund.paymentIntentId, refund, applyRefund);
  }
  if (type === "charge.refunded") {
    // The charge tells only a sum: each refund has its own reference, so they are fetched.
    const charge = ChargeSnapshot.safeParse(data).data;
    if (charge === undefined) return notA("charge");
    const refunds = charge.payment_intent === null ? [] : await services.processor.findRefunds(charge.payment_intent);
    return onTopup(services, charge.payment_intent, refunds, async (tx, topup, all) => {
      const outcomes: string[] = [];
      for (const refund of all) outcomes.push(await applyRefund(tx, topup, refund));
      return outcomes.join(", ") || "nothing moved";
    });
  }
  if (type.startsWith("charge.dispute.")) {
    const dispute = readDispute(data);
    return dispute === null ? notA("dispute") : onTopup(services, dispute.paymentIntentId, dispute, applyDispute);
  }
  if (type.startsWith("payout.")) return (tx) => applyPayout(tx, account, data, services);
  if (type.startsWith("transfer.")) return (tx) => applyTransfer(tx, data, services);
  const accountId = accountOfEvent(event);
  if (accountId !== null) {
    const synced = await syncPayoutAccount(services, accountId);
    return () => (synced === null ? "not ours" : synced.active ? "active" : "not active");
  }
  return () => "not understood";
}

const ChargeSnapshot = z.object({ payment_intent: Related });

const notA =
  (noun: string): Effect =>
  () =>
    `unexpected: not a ${noun}`;

/** The effect on the top-up that a payment intent paid for, which is settled first; null while it cannot be. */
async function onTopup<News>(
  services: Services,
  paymentIntentId: string | null,
  news: News,
  apply: (tx: Transaction, topup: { id: string; userId: string }, news: News) => Promise<string>,
): Promise<Effect | null> {
  const topup = paymentIntentId === null ? "notOurs" : await settlePaidTopup(services, paymentIntentId);
  if (topup === "unsettled") return null;
  return topup === "notOurs" ? () => "not ours" : (tx) => apply(tx, topup, news);
}

/** Events that were kept and not yet applied, whether or not a job for them is left. */
export function findUnprocessedEvents({ database }: Services, limit: number): Promise<{ eventId: string }[]> {
  return database.query<{ eventId: string }>(sql`
    SELECT id AS "eventId" FROM processor_events
    WHERE processed_at IS NULL AND next_attempt_at <= clock_timestamp() ORDER BY next_attempt_at LIMIT ${limit}`);
}
