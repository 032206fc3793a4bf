import type { Payout } from "../../schemas/payout.ts";
import { queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { failureMessageOf } from "./failures.ts";
import { type PayoutState, payoutStates } from "./rules.ts";

/** What the public record of a payout is made from. */
export type PayoutRow = Omit<Payout, "status" | "failureMessage"> & { state: PayoutState; failureCode: string | null };

/** Columns of `payouts p`. */
export const payoutRowColumns = sql`
  p.id, p.amount_cents AS "amountCents", p.state, p.ledger_entry_id AS "pendingLedgerId",
  p.failure_code AS "failureCode", p.created_at AS "createdAt", p.updated_at AS "updatedAt"`;

export function toPayout({ state, failureCode, ...payout }: PayoutRow): Payout {
  return { ...payout, status: payoutStates[state].status, failureMessage: failureMessageOf(failureCode) };
}

/** Tells the owner that a payout has been requested, or that its status has changed. */
export async function recordPayoutUpdated(tx: Transaction, payoutId: string, userId: string): Promise<void> {
  const row = await queryOne<PayoutRow>(
    tx,
    sql`SELECT ${payoutRowColumns} FROM payouts p WHERE p.id = ${payoutId}::uuid`,
  );
  tx.events.record("payout.updated", { payout: toPayout(row) }, [userId]);
}
