import type { CheckoutSession } from "../../gateways/processorRecords.ts";
import { settleSession } from "../../market/topups/adopt.ts";
import { isRefunded } from "../../market/topups/refunds.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { isOurId } from "../ourId.ts";
import { type Bookkeeping, groupsOf } from "./bookkeeping.ts";

const SESSIONS_AT_ONCE = 100;

/**
 * Credits top-ups that were paid and are not credited. `since` is in epoch seconds. Returns their sessions by payment, because
 * their refunds and disputes are missing as well.
 */
export async function reconcileTopups(
  services: Services,
  books: Bookkeeping,
  since: number,
): Promise<Map<string, CheckoutSession>> {
  const { database, processor } = services;
  const missing = new Map<string, CheckoutSession>();
  for await (const sessions of groupsOf(processor.listCheckoutPayments(since), SESSIONS_AT_ONCE)) {
    const { credited, known, users } = await readKnown(database, sessions);
    for (const session of sessions) {
      const { topupId, userId, paymentIntentId, amountCents, currency } = session;
      // Without one of our ids the payment is for something else on the same processor account.
      if (!isOurId(topupId) || (credited.has(topupId) && credited.get(topupId) === paymentIntentId)) continue;
      const subject = `top-up ${topupId} of ${amountCents} ${currency} by user ${userId}`;
      if (!known.has(topupId) && !users.has(userId)) {
        if (await isRefunded(processor, session)) continue;
        books.note({ kind: "unknownUser", subject, detail: `paid as ${paymentIntentId}` });
        continue;
      }
      if (paymentIntentId !== null) missing.set(paymentIntentId, session);
      await books.book(subject, (tx) => settleSession(tx, services, session));
    }
  }
  return missing;
}

async function readKnown(database: Connection, sessions: CheckoutSession[]) {
  const topups = await database.query<{ id: string; status: string; paymentIntentId: string | null }>(sql`
    SELECT id, status, payment_intent_id AS "paymentIntentId" FROM topups
    WHERE id = ANY (${sessions.map(({ topupId }) => topupId).filter(isOurId)}::uuid[])`);
  const users = await database.query<{ id: string }>(sql`
    SELECT id FROM users WHERE id = ANY (${sessions.map(({ userId }) => userId).filter(isOurId)}::uuid[])`);
  const paid = topups.filter(({ status }) => status === "paid");
  return {
    credited: new Map(paid.map(({ id, paymentIntentId }) => [id, paymentIntentId])),
    known: new Set(topups.map(({ id }) => id)),
    users: new Set<string | null>(users.map(({ id }) => id)),
  };
}
