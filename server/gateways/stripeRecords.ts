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
    topupId: session.metadata?.topupId ?? null,
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
  account: z.string().nullish(),
  data: z.object({ object: z.unknown() }),
});

const ThinEvent = z.object({
  object: z.literal("v2.core.event"),
  id: z.string(),
  type: z.string(),
  context: z.string().nullish(),
  related_object: z.object({ id: z.string() }).nullish(),
});

const SignedEvent = z.discriminatedUnion("object", [SnapshotEvent, ThinEvent]);

/** An event of the processor's list. */
export function eventRecord(event: Stripe.Event): ProcessorEvent {
  return snapshotRecord(storable(event));
}

/** Null when the bytes are no event. The signature must have been checked before. */
export function readEvent(rawBody: Buffer): ProcessorEvent | null {
  const event = SignedEvent.safeParse(storable(parseJson(rawBody))).data;
  if (event === undefined) return null;
  if (event.object === "event") return snapshotRecord(event);
  const { id, type, context = null, related_object } = event;
  return { id, type, account: context, data: null, relatedObjectId: related_object?.id ?? null };
}

function snapshotRecord({ id, type, account = null, data }: z.infer<typeof SnapshotEvent>): ProcessorEvent {
  return { id, type, account, data: data.object, relatedObjectId: null };
}

/**
 * The same value with U+FFFD for each NUL and each half of a surrogate pair that stands alone, in names and texts. Postgres
 * stores neither, and no event may be lost for what somebody wrote into a field; nothing that moves money has any.
 */
function storable<Json>(value: Json): Json {
  // In what JSON.stringify writes, a surrogate is escaped only when it stands alone. The dot takes any other escape whole, so
  // that what follows an escaped backslash is not taken for one.
  const text = JSON.stringify(value).replace(/\\(?:(u0000|ud[0-9a-f]{3})|.)/g, (escaped, unstorable?: string) =>
    unstorable === undefined ? escaped : "\ufffd",
  );
  return JSON.parse(text);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return null;
  }
}
