/** Turns Stripe's objects into the records of `processorRecords.ts`. Does no I/O. */
import type Stripe from "stripe";
import type {
  CheckoutSession,
  ProcessorBalanceTransaction,
  ProcessorDispute,
  ProcessorPayout,
  ProcessorRefund,
  ProcessorTransfer,
} from "./processorRecords.ts";

export function checkoutSession(session: Stripe.Checkout.Session): CheckoutSession {
  return {
    id: session.id,
    url: session.url,
    status: session.status ?? "unknown",
    paymentStatus: session.payment_status,
    paymentIntentId: idOf(session.payment_intent),
    amountCents: session.amount_total,
    currency: session.currency,
    topupId: session.metadata?.topupId ?? null,
    userId: session.metadata?.userId ?? null,
    paymentFailed: session.status === "complete" && hasFailed(session.payment_intent),
    expiresAt: session.expires_at,
    createdAt: session.created,
  };
}

/** A failed payment waits for another card, but a completed session never asks for one. */
function hasFailed(intent: Stripe.Checkout.Session["payment_intent"]): boolean {
  if (typeof intent !== "object" || intent === null) return false;
  return intent.status === "requires_payment_method" || intent.status === "canceled";
}

export function transferRecord(transfer: Stripe.Transfer): ProcessorTransfer {
  return {
    transferId: transfer.id,
    accountId: idOf(transfer.destination),
    amountCents: transfer.amount,
    reversedCents: transfer.amount_reversed,
    currency: transfer.currency,
    transferGroup: transfer.transfer_group,
    createdAt: transfer.created,
  };
}

export function payoutRecord(payout: Stripe.Payout): ProcessorPayout {
  return {
    id: payout.id,
    payoutId: payout.metadata?.payoutId ?? null,
    status: payout.status,
    amountCents: payout.amount,
    currency: payout.currency,
    failureCode: payout.failure_code,
    failureMessage: payout.failure_message,
    arrivalDate: payout.arrival_date,
    createdAt: payout.created,
  };
}

export function balanceTransactionRecord(transaction: Stripe.BalanceTransaction): ProcessorBalanceTransaction {
  return {
    id: transaction.id,
    type: transaction.type,
    amountCents: transaction.amount,
    feeCents: transaction.fee,
    ...sourceOf(transaction),
    createdAt: transaction.created,
  };
}

function sourceOf({ source }: Stripe.BalanceTransaction) {
  const [sourceId, expanded] = [idOf(source), typeof source === "object" ? source : null];
  const reversal = expanded?.object === "refund" || expanded?.object === "dispute" ? expanded : null;
  return { sourceId, sourceKind: expanded?.object ?? null, paymentIntentId: idOf(reversal?.payment_intent ?? null) };
}

export function refundRecord(refund: Stripe.Refund): ProcessorRefund {
  return {
    id: refund.id,
    status: refund.status ?? "unknown",
    amountCents: refund.amount,
    paymentIntentId: idOf(refund.payment_intent),
    balanceTransactionId: idOf(refund.balance_transaction),
    failureBalanceTransactionId: idOf(refund.failure_balance_transaction ?? null),
    createdAt: refund.created,
  };
}

export function disputeRecord(dispute: Stripe.Dispute): ProcessorDispute {
  return {
    id: dispute.id,
    status: dispute.status,
    amountCents: dispute.amount,
    movements: dispute.balance_transactions.map(({ id, amount }) => ({ id, amountCents: amount })),
    createdAt: dispute.created,
  };
}

/** The id of a related object, which Stripe returns as an id or, when expanded, as the object. */
function idOf(related: string | { id: string } | null): string | null {
  return typeof related === "object" && related !== null ? related.id : related;
}
