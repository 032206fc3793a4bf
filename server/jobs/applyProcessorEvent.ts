import { z } from "zod";
import { sql } from "../db/connection.ts";
import type { Transaction } from "../db/database.ts";
import type { Services } from "../services.ts";
import type { JobPayload } from "./payloads.ts";

/** The parts of Stripe's checkout session that decide about a top-up. Unknown statuses must not crash anything. */
const CheckoutSession = z.object({
  id: z.string(),
  client_reference_id: z.string().nullish(),
  payment_status: z.string(),
  payment_intent: z.union([z.string(), z.object({ id: z.string() })]).nullish(),
  amount_total: z.int().nullish(),
  currency: z.string().nullish(),
});
type CheckoutSession = z.infer<typeof CheckoutSession>;

const StoredEvent = z.object({ type: z.string(), data: z.unknown() });

/** Does what a stored event says, and marks it as done, in one transaction. What is not understood is kept and left alone. */
export async function applyProcessorEvent(
  { database, log }: Services,
  { eventId }: JobPayload<"applyProcessorEvent">,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [row] = await tx.query<{ payload: unknown }>(sql`
      SELECT payload FROM processor_events WHERE id = ${eventId} AND processed_at IS NULL FOR UPDATE`);
    if (!row) return;
    const outcome = await apply(tx, StoredEvent.parse(row.payload));
    if (outcome.startsWith("unexpected")) log.error({ eventId, outcome }, "a processor event does not fit our records");
    await tx.query(sql`
      UPDATE processor_events SET processed_at = clock_timestamp(), outcome = ${outcome} WHERE id = ${eventId}`);
  });
}

async function apply(tx: Transaction, event: z.infer<typeof StoredEvent>): Promise<string> {
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
    case "checkout.session.async_payment_failed":
    case "checkout.session.expired": {
      const session = CheckoutSession.safeParse(event.data);
      return session.success ? applyCheckout(tx, event.type, session.data) : "unexpected: not a checkout session";
    }
    default:
      return "not understood";
  }
}

/**
 * Events come in any order and any number of times. A paid session credits once, since the ledger's reference is the
 * payment intent and never the event; what closes a top-up cannot undo a payment.
 */
async function applyCheckout(tx: Transaction, type: string, session: CheckoutSession): Promise<string> {
  const [topup] = await tx.query<{
    id: string;
    userId: string;
    amountCents: number;
    currency: string;
    status: string;
  }>(sql`
    SELECT id, user_id AS "userId", amount_cents AS "amountCents", currency, status FROM topups
    WHERE session_id = ${session.id} OR id::text = ${session.client_reference_id ?? ""} FOR UPDATE`);
  if (!topup) return "unexpected: no such top-up";

  const setStatus = (status: string, paymentIntentId: string | null = null) =>
    tx.query(sql`
      UPDATE topups SET status = ${status}, session_id = ${session.id}, updated_at = clock_timestamp(),
             payment_intent_id = coalesce(${paymentIntentId}, payment_intent_id)
      WHERE id = ${topup.id}::uuid`);

  if (session.payment_status === "paid") {
    const paymentIntentId =
      typeof session.payment_intent === "string" ? session.payment_intent : session.payment_intent?.id;
    if (!paymentIntentId) return "unexpected: paid without a payment intent";
    if (session.amount_total !== topup.amountCents || session.currency !== topup.currency) {
      return `unexpected: paid ${session.amount_total} ${session.currency} for a top-up of ${topup.amountCents} ${topup.currency}`;
    }
    const entry = await tx.ledger.deposit(topup.userId, "topup", topup.amountCents, paymentIntentId);
    await setStatus("paid", paymentIntentId);
    return entry === null ? "credited before" : "credited";
  }
  if (topup.status === "paid") return "paid before";
  if (type === "checkout.session.completed") {
    if (topup.status === "created") await setStatus("processing");
    return "waits for the payment";
  }
  await setStatus(type === "checkout.session.expired" ? "expired" : "failed");
  return "closed";
}

/** Events that were kept and not yet applied, whether or not a job for them is left. */
export function findUnprocessedEvents({ database }: Services, limit: number): Promise<{ eventId: string }[]> {
  return database.query<{ eventId: string }>(sql`
    SELECT id AS "eventId" FROM processor_events
    WHERE processed_at IS NULL AND received_at < clock_timestamp() - interval '5 seconds'
    ORDER BY received_at LIMIT ${limit}`);
}
