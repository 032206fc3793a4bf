import { z } from "zod";
import type { CheckoutSession, ProcessorEvent } from "../../gateways/processorRecords.ts";
import { OurId, Related } from "../../gateways/snapshots.ts";
import type { Settings } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { applied, type EventOutcome, ignored, notOurs, unexpected } from "../eventOutcome.ts";
import { postForTopup } from "./forTask.ts";

/** The state of a top-up's checkout, from an event or a response of the processor. */
interface CheckoutUpdate {
  sessionId: string;
  topupId: string | null;
  /** `open`: not paid yet. `processing`: a slow payment is under way. */
  result: "open" | "processing" | "paid" | "failed" | "expired";
  paymentIntentId: string | null;
  amountCents: number | null;
  currency: string | null;
}

const SessionSnapshot = z.object({
  id: z.string(),
  client_reference_id: OurId,
  payment_status: z.string(),
  payment_intent: Related,
  amount_total: z.int().nullish(),
  currency: z.string().nullish(),
});

/** Reads a `checkout.session.*` event; null if it does not contain a checkout session. */
export function readCheckoutEvent({ type, data }: Pick<ProcessorEvent, "type" | "data">): CheckoutUpdate | null {
  const session = SessionSnapshot.safeParse(data).data;
  if (session === undefined) return null;
  return {
    sessionId: session.id,
    topupId: session.client_reference_id,
    result: session.payment_status === "paid" ? "paid" : (resultOfType[type] ?? "open"),
    paymentIntentId: session.payment_intent,
    amountCents: session.amount_total ?? null,
    currency: session.currency ?? null,
  };
}

const resultOfType: Record<string, CheckoutUpdate["result"]> = {
  "checkout.session.completed": "processing",
  "checkout.session.async_payment_failed": "failed",
  "checkout.session.expired": "expired",
};

/** Reads a session that was fetched from the processor. */
export function updateFromSession(session: CheckoutSession): CheckoutUpdate {
  const { id, topupId, status, paymentStatus, paymentFailed, ...rest } = session;
  const unpaid = paymentFailed ? "failed" : status === "complete" ? "processing" : "open";
  const result = paymentStatus === "paid" ? "paid" : status === "expired" ? "expired" : unpaid;
  const { paymentIntentId, amountCents, currency } = rest;
  return { sessionId: id, topupId: OurId.parse(topupId), result, paymentIntentId, amountCents, currency };
}

/**
 * Applies an update about a top-up. Updates may arrive in any order and any number of times. A paid session is credited
 * once, because the ledger's reference is the payment intent and never the event. Closing a top-up cannot undo a
 * payment.
 */
export async function applyCheckout(
  tx: Transaction,
  { settings }: { settings: Pick<Settings, "spamGuard"> },
  update: CheckoutUpdate,
): Promise<EventOutcome> {
  const [topup] = await tx.query<{
    id: string;
    userId: string;
    amountCents: number;
    currency: string;
    status: string;
    sessionId: string | null;
    paymentIntentId: string | null;
    createdAt: string;
    forTask: unknown;
    isLate: boolean;
  }>(sql`
    SELECT id, user_id AS "userId", created_at AS "createdAt", amount_cents AS "amountCents", currency, status, session_id AS "sessionId",
           payment_intent_id AS "paymentIntentId", for_task AS "forTask",
           created_at < service_now() - interval '24 hours' AS "isLate" FROM topups
    WHERE session_id = ${update.sessionId} OR id = ${update.topupId}::uuid FOR UPDATE`);
  // Without one of our ids, the session is for something else on the same processor account.
  if (!topup) return update.topupId === null ? notOurs : unexpected("no such top-up");
  if (topup.sessionId !== null && topup.sessionId !== update.sessionId) {
    return unexpected(`${update.sessionId} is a second session for ${topup.id}, after ${topup.sessionId}`);
  }

  const setStatus = (status: string, paymentIntentId: string | null = null) =>
    tx.query(sql`
      UPDATE topups SET status = ${status}, session_id = ${update.sessionId}, updated_at = service_now(),
             payment_intent_id = coalesce(${paymentIntentId}, payment_intent_id)
      WHERE id = ${topup.id}::uuid`);

  if (update.result === "paid") {
    const { paymentIntentId, amountCents, currency } = update;
    if (!paymentIntentId) return unexpected("paid without a payment intent");
    if (amountCents !== topup.amountCents || currency !== topup.currency) {
      return unexpected(`paid ${amountCents} ${currency} for a top-up of ${topup.amountCents} ${topup.currency}`);
    }
    if (topup.paymentIntentId !== null && topup.paymentIntentId !== paymentIntentId) {
      return unexpected(`paid by ${paymentIntentId}, after ${topup.paymentIntentId}`);
    }
    const entry = await tx.ledger.deposit(topup.userId, "topup", topup.amountCents, paymentIntentId);
    if (topup.status !== "paid") await setStatus("paid", paymentIntentId);
    if (entry === null) return ignored("already credited");
    const { id, createdAt } = topup;
    const credited = { id, sessionId: update.sessionId, amountCents, createdAt };
    const posted = topup.forTask === null ? {} : await postForTopup(tx, settings, topup);
    tx.events.record("topup.credited", { topup: credited, ...posted }, [topup.userId]);
    return applied("credited");
  }
  if (topup.status === "paid" || update.result === "open") return ignored("nothing new");
  if (update.result === "processing") {
    if (topup.status === "created") await setStatus("processing");
    return applied("waiting for the payment");
  }
  // A closed top-up keeps the first ending that was reported.
  if (topup.status === "created" || topup.status === "processing") await setStatus(update.result);
  return applied("closed");
}
