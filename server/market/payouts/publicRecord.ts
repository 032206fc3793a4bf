import type { Payout } from "../../schemas/payout.ts";
import { sql } from "../../store/connection.ts";
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
