import { OurId } from "../../gateways/snapshots.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { settleSession } from "./adopt.ts";

/** A credited top-up, for refunds and disputes. */
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
 * Returns the top-up that a payment intent paid for. The event of a refund or dispute may arrive before that of the
 * payment: then the session is fetched from the processor and the payment applied first. `unsettled`: it is one of
 * ours, but still not credited, so try again later. Throws ProcessorUnavailable or ProcessorRefused.
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
  await database.transaction((tx) => settleSession(tx, services, session));
  const [ours] = await database.query(sql`
    SELECT id FROM topups
    WHERE session_id = ${session.id} OR (id = ${OurId.parse(session.topupId)}::uuid AND session_id IS NULL)`);
  return (await findPaidTopup(database, paymentIntentId)) ?? (ours ? "unsettled" : "notOurs");
}
