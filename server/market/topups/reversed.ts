import type { CreditedTopup, TopupReversal } from "../../schemas/topup.ts";
import { queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { PaidTopup } from "./paid.ts";

/** Tells the owner of a top-up what a refund or a chargeback has moved. */
export async function recordReversal(
  tx: Transaction,
  { id, userId }: PaidTopup,
  reversal: TopupReversal,
): Promise<void> {
  const topup = await queryOne<CreditedTopup>(
    tx,
    sql`
    SELECT id, session_id AS "sessionId", amount_cents AS "amountCents", created_at AS "createdAt"
    FROM topups WHERE id = ${id}::uuid`,
  );
  tx.events.record("topup.reversed", { topup, reversal }, [userId]);
}
