import { z } from "zod";
import type { ProcessorRefund } from "../../gateways/processorRecords.ts";
import { Related } from "../../gateways/snapshots.ts";
import type { Transaction } from "../../store/database.ts";
import { applied, type EventOutcome, ignored } from "../eventOutcome.ts";
import type { PaidTopup } from "./paid.ts";

const RefundSnapshot = z.object({
  id: z.string(),
  amount: z.int(),
  status: z.string().nullish(),
  payment_intent: Related,
  balance_transaction: Related,
  failure_balance_transaction: Related,
});

type RefundNews = Omit<ProcessorRefund, "createdAt">;

/** Reads a `refund.*` event; null if it does not contain a refund. */
export function readRefund(data: unknown): RefundNews | null {
  const refund = RefundSnapshot.safeParse(data).data;
  if (refund === undefined) return null;
  return {
    id: refund.id,
    amountCents: refund.amount,
    status: refund.status ?? "unknown",
    paymentIntentId: refund.payment_intent,
    balanceTransactionId: refund.balance_transaction,
    failureBalanceTransactionId: refund.failure_balance_transaction,
  };
}

/**
 * Debits the wallet once a refund left the platform's balance, and credits it again if the refund failed after that. A
 * failure always books both, so that the history is the same whichever event came first; the references contain the
 * refund's id, so each is booked once.
 */
export async function applyRefund(tx: Transaction, topup: PaidTopup, refund: RefundNews): Promise<EventOutcome> {
  const { id, amountCents, status } = refund;
  const left = refund.balanceTransactionId !== null || status === "succeeded";
  const returned = refund.failureBalanceTransactionId !== null || status === "failed" || status === "canceled";
  if (!left) return ignored("nothing moved");
  const taken = await tx.ledger.clawBack(topup.userId, "topup_refund", amountCents, `refund:${id}`);
  if (!returned) return taken === null ? ignored("taken before") : applied("taken");
  const back = await tx.ledger.deposit(topup.userId, "topup_refund", amountCents, `refund:${id}:failed`);
  return back === null ? ignored("returned before") : applied("returned");
}
