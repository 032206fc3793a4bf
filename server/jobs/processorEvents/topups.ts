import { type Connection, sql } from "../../db/connection.ts";
import type { Services } from "../../services.ts";
import { applyCheckout, newsOfSession } from "./checkout.ts";

/** A top-up that has been credited, as refunds and disputes need it. */
export interface PaidTopup {
  id: string;
  userId: string;
}

export async function findPaidTopup(connection: Connection, paymentIntentId: string): Promise<PaidTopup | null> {
  const [topup] = await connection.query<PaidTopup>(sql`
    SELECT id, user_id AS "userId" FROM topups WHERE payment_intent_id = ${paymentIntentId}`);
  return topup ?? null;
}

/**
 * The top-up that a payment intent paid for. A refund or dispute may be told before the payment: then the processor is
 * asked for the session behind the intent, and the payment is applied first. Null when it is no payment of ours. Throws
 * ProcessorUnavailable or ProcessorRefused.
 */
export async function settlePaidTopup(services: Services, paymentIntentId: string): Promise<PaidTopup | null> {
  const { database, processor } = services;
  const known = await findPaidTopup(database, paymentIntentId);
  if (known !== null) return known;
  const session = await processor.findCheckoutSession(paymentIntentId);
  if (session === null) return null;
  await database.transaction((tx) => applyCheckout(tx, newsOfSession(session)));
  return findPaidTopup(database, paymentIntentId);
}
