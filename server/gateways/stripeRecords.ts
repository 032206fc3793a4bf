/** Stripe's objects and events, read into the small records of `processor.ts`. Nothing here does I/O. */
import type Stripe from "stripe";
import { z } from "zod";
import type {
  CheckoutSession,
  ProcessorBalanceTransaction,
  ProcessorDispute,
  ProcessorEvent,
  ProcessorPayout,
  ProcessorRefund,
  ProcessorTransfer,
} from "./processor.ts";

export function checkoutSession(session: Stripe.Checkout.Session): CheckoutSession {
  return {
    id: session.id,
    url: session.url,
    status: session.status ?? "unknown",
    paymentStatus: session.payment_status,
    paymentIntentId: idOf(session.payment_intent),
    amountCents: session.amount_total,
    currency: session.currency,
    clientReferenceId: session.client_reference_id,
    paymentFailed: session.status === "complete" && hasFailed(session.payment_intent),
    expiresAt: session.expires_at,
  };
}

/** A payment that failed waits for another card, which a completed session never asks for. */
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

/** Stripe gives either the id of a related object or, when expanded, the object. */
function idOf(related: string | { id: string } | null): string | null {
  return typeof related === "object" && related !== null ? related.id : related;
}

const SnapshotEvent = z.object({
  object: z.literal("event"),
  id: z.string(),
  type: z.string(),
  created: z.number(),
  account: z.string().nullish(),
  data: z.object({ object: z.unknown() }),
});

const ThinEvent = z.object({
  object: z.literal("v2.core.event"),
  id: z.string(),
  type: z.string(),
  created: z.string(),
  context: z.string().nullish(),
  related_object: z.object({ id: z.string() }).nullish(),
});

const SignedEvent = z.discriminatedUnion("object", [SnapshotEvent, ThinEvent]);

export function eventRecord({ id, type, created, account, data }: Stripe.Event): ProcessorEvent {
  return { id, type, createdAt: created, account: account ?? null, data: data.object, relatedObjectId: null };
}

/** Null when the bytes are no event. The signature must have been checked before. */
export function readEvent(rawBody: Buffer): ProcessorEvent | null {
  const event = SignedEvent.safeParse(parseJson(rawBody)).data;
  if (event === undefined) return null;
  if (event.object === "event") {
    const { id, type, created, account, data } = event;
    return { id, type, createdAt: created, account: account ?? null, data: data.object, relatedObjectId: null };
  }
  return {
    id: event.id,
    type: event.type,
    createdAt: Math.floor(Date.parse(event.created) / 1000),
    account: event.context ?? null,
    data: null,
    relatedObjectId: event.related_object?.id ?? null,
  };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return null;
  }
}
