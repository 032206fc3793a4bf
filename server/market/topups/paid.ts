import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { applyCheckout, newsOfSession } from "./settle.ts";

/** A top-up that has been credited, as refunds and disputes need it. */
export interface PaidTopup {
  id: string;
  userId: string;
}

async function findPaidTopup(connection: Connection, paymentIntentId: string): Promise<PaidTopup | null> {
  const [topup] = await connection.query<PaidTopup>(sql`
    SELECT id, user_id AS "userId" FROM topups WHERE payment_intent_id = ${paymentIntentId}`);
  return topup ?? null;
}

/**
 * The top-up that a payment intent paid for. A refund or dispute may be told before the payment: then the processor is
 * asked for the session behind the intent, and the payment is applied first. `unsettled` when it is one of ours that is
 * not credited even then: it has to be asked again. Throws ProcessorUnavailable or ProcessorRefused.
 */
export async function settlePaidTopup(
  services: Services,
  paymentIntentId: string,
): Promise<PaidTopup | "notOurs" | "unsettled"> {
  const { database, processor } = services;
  const known = await findPaidTopup(database, paymentIntentId);
  if (known !== null) return known;
  const session = await processor.findCheckoutSession(paymentIntentId);
  if (session === null) return "notOurs";
  const news = newsOfSession(session);
  const [ours] = await database.query(sql`
    SELECT id FROM topups
    WHERE session_id = ${news.sessionId} OR (id = ${news.topupId}::uuid AND session_id IS NULL)`);
  if (!ours) return "notOurs";
  await database.transaction((tx) => applyCheckout(tx, news));
  return (await findPaidTopup(database, paymentIntentId)) ?? "unsettled";
}
