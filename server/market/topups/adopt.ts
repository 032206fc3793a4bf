import type { CheckoutSession, ProcessorEvent } from "../../gateways/processorRecords.ts";
import { OurId } from "../../gateways/snapshots.ts";
import type { Services, Settings } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { type EventOutcome, unexpected } from "../eventOutcome.ts";
import { applyCheckout, readCheckoutEvent, updateFromSession } from "./settle.ts";

/**
 * Says what a `checkout.session.*` event does. Where the books do not know which session a top-up has, only the event's client
 * reference links the two, and a payer may have chosen that, so the session itself is fetched from the processor: the response
 * to the call that created it was lost, or the books are older than it. Throws ProcessorUnavailable or ProcessorRefused.
 */
export async function interpretCheckout(
  services: Services,
  event: Pick<ProcessorEvent, "type" | "data">,
): Promise<(tx: Transaction) => Promise<EventOutcome> | EventOutcome> {
  const { database, processor } = services;
  const update = readCheckoutEvent(event);
  if (update === null) return () => unexpected("not a checkout session");
  const [known] = await database.query(sql`
    SELECT id FROM topups WHERE session_id = ${update.sessionId}
       OR (id = ${update.topupId}::uuid AND session_id IS NOT NULL)`);
  if (known || update.topupId === null) return (tx) => applyCheckout(tx, services, update);
  const session = await processor.getCheckoutSession(update.sessionId);
  return (tx) => settleSession(tx, services, session);
}

/**
 * Applies a session that was fetched from the processor. If it was paid and its top-up is not in the books, as after a restore
 * of the database to an earlier time, the top-up is stored first: its metadata, which only our API key can write, names it and
 * its user. A session of a user whom the books do not know is not booked.
 */
export async function settleSession(
  tx: Transaction,
  services: { settings: Pick<Settings, "spamGuard"> },
  session: CheckoutSession,
): Promise<EventOutcome> {
  if (session.paymentStatus === "paid") await adoptTopup(tx, session);
  return applyCheckout(tx, services, updateFromSession(session));
}

async function adoptTopup(tx: Transaction, session: CheckoutSession): Promise<void> {
  const { amountCents, currency, expiresAt, createdAt } = session;
  const [topupId, userId] = [OurId.parse(session.topupId), OurId.parse(session.userId)];
  if (topupId === null || userId === null || !amountCents || currency === null) return;
  // The page is closed, so that nothing needs the addresses that it led to.
  await tx.query(sql`
    INSERT INTO topups (id, user_id, amount_cents, currency, session_id, expires_at, created_at, success_url, cancel_url)
    SELECT ${topupId}::uuid, id, ${amountCents}, ${currency}, ${session.id}, to_timestamp(${expiresAt}),
           to_timestamp(${createdAt}), '', ''
    FROM users WHERE id = ${userId}::uuid
    ON CONFLICT (id) DO NOTHING`);
}
