import { z } from "zod";
import type { Processor } from "../../gateways/processor.ts";
import type { CheckoutSession, ProcessorRefund } from "../../gateways/processorRecords.ts";
import { Related } from "../../gateways/snapshots.ts";
import type { Transaction } from "../../store/database.ts";
import { applied, type EventOutcome, ignored } from "../eventOutcome.ts";
import type { PaidTopup } from "./paid.ts";
import { recordReversal } from "./reversed.ts";

const RefundSnapshot = z.object({
  id: z.string(),
  amount: z.int(),
  status: z.string().nullish(),
  payment_intent: Related,
  balance_transaction: Related,
  failure_balance_transaction: Related,
});

type RefundUpdate = Omit<ProcessorRefund, "createdAt">;

/** Reads a `refund.*` event; null if it does not contain a refund. */
export function readRefund(data: unknown): RefundUpdate | null {
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
 * Debits the wallet once a refund has left the platform's balance, and credits it again if the refund fails after that.
 * A failure always books both, so that the history is the same whichever event came first. The references contain the
 * refund's id, so each is booked once.
 */
export async function applyRefund(tx: Transaction, topup: PaidTopup, refund: RefundUpdate): Promise<EventOutcome> {
  const { id, amountCents, status } = refund;
  const hasLeft = refund.balanceTransactionId !== null || status === "succeeded";
  const hasReturned = refund.failureBalanceTransactionId !== null || status === "failed" || status === "canceled";
  if (!hasLeft) return ignored("nothing moved");
  const debit = await tx.ledger.clawBack(topup.userId, "topup_refund", amountCents, `refund:${id}`);
  if (debit !== null) await recordReversal(tx, topup, { kind: "topup_refund", amountCents: -amountCents });
  if (!hasReturned) return debit === null ? ignored("already debited") : applied("debited");
  const credit = await tx.ledger.deposit(topup.userId, "topup_refund", amountCents, `refund:${id}:failed`);
  if (credit !== null) await recordReversal(tx, topup, { kind: "topup_refund", amountCents });
  return credit === null ? ignored("already credited back") : applied("credited back");
}

/** Whether the payer has the whole amount back, so that nobody is owed anything. */
export async function isRefunded(
  processor: Processor,
  { paymentIntentId, amountCents }: Pick<CheckoutSession, "paymentIntentId" | "amountCents">,
): Promise<boolean> {
  if (paymentIntentId === null) return false;
  const refunds = (await processor.findRefunds(paymentIntentId)).filter(({ status }) => status === "succeeded");
  return refunds.reduce((sum, refund) => sum + refund.amountCents, 0) === amountCents;
}
