/**
 * The processor's objects as the rest of the service sees them: small plain records. Amounts are integer cents, times
 * are epoch seconds.
 */

/**
 * How long a call to the processor may be repeated with its key. Stripe forgets keys after 24 hours, and would then do it again;
 * two hours are the margin.
 */
export const PROCESSOR_KEY_HOURS = 22;

export interface CheckoutSession {
  id: string;
  /** Where the person pays; null once the session is closed. */
  url: string | null;
  status: "open" | "complete" | "expired" | (string & {});
  /** "paid", "unpaid" (also while a slow payment method is being processed) or a value newer than this code. */
  paymentStatus: string;
  paymentIntentId: string | null;
  amountCents: number | null;
  currency: string | null;
  /**
   * Our top-up's id, as `createCheckoutSession` stored it in the metadata, which only our API key can write. The client
   * reference cannot be trusted: on a payment link it is whatever the link says.
   */
  topupId: string | null;
  /** Our user's id, from the same metadata. */
  userId: string | null;
  /** A slow payment failed for good. Known only from `getCheckoutSession`, not from a list or an event. */
  paymentFailed: boolean;
  /** Epoch seconds. */
  expiresAt: number;
  /** Epoch seconds. */
  createdAt: number;
}

export interface ProcessorAccount {
  accountId: string;
  /** Our user's id, from the metadata. */
  userId: string | null;
  transfersActive: boolean;
  payoutsActive: boolean;
  /** The person has entered something on the onboarding pages. */
  onboardingStarted: boolean;
}

export interface ProcessorTransfer {
  transferId: string;
  accountId: string | null;
  amountCents: number;
  reversedCents: number;
  currency: string;
  transferGroup: string | null;
  /** Epoch seconds. */
  createdAt: number;
}

export interface ProcessorPayout {
  id: string;
  /** Our payout's id, from the metadata. */
  payoutId: string | null;
  status: "pending" | "in_transit" | "paid" | "failed" | "canceled" | (string & {});
  amountCents: number;
  currency: string;
  /** Stripe's code, such as "account_closed", and its message, which is for operators. */
  failureCode: string | null;
  failureMessage: string | null;
  /** When the money should arrive at the bank, epoch seconds. */
  arrivalDate: number;
  /** Epoch seconds. */
  createdAt: number;
}

export interface ProcessorRefund {
  id: string;
  status: "pending" | "succeeded" | "failed" | "canceled" | "requires_action" | (string & {});
  amountCents: number;
  paymentIntentId: string | null;
  /** Set once the money left the platform's balance. */
  balanceTransactionId: string | null;
  /** Set once the money came back because the refund failed. */
  failureBalanceTransactionId: string | null;
  /** Epoch seconds. */
  createdAt: number;
}

export interface ProcessorDispute {
  id: string;
  status: "needs_response" | "under_review" | "won" | "lost" | (string & {});
  amountCents: number;
  /** Its effects on the platform's balance so far: negative when withdrawn, positive when reinstated. */
  movements: { id: string; amountCents: number }[];
  /** Epoch seconds. */
  createdAt: number;
}

export interface ProcessorBalanceTransaction {
  id: string;
  /** "charge", "refund", "adjustment", "transfer", "transfer_refund", "payout", "payout_failure", ... */
  type: string;
  /** Signed, before fees. */
  amountCents: number;
  feeCents: number;
  /** The object that caused it: its id and its kind, such as "refund", "dispute", "charge", "transfer". */
  sourceId: string | null;
  sourceKind: string | null;
  /** The payment, when a refund or dispute caused it. */
  paymentIntentId: string | null;
  /** Epoch seconds. */
  createdAt: number;
}

/** An event as received or listed. Postgres can store every text in it: see `storable` in stripeEvents.ts. */
export interface ProcessorEvent {
  id: string;
  type: string;
  /** The connected account on which it happened and whose money it concerns; null for the platform itself. */
  account: string | null;
  /** Snapshot events: the object as it was then. Thin events: null; fetch the related object. */
  data: unknown;
  relatedObjectId: string | null;
}

/** Where the processor sends events. */
export interface EventDestination {
  id: string;
  /** Null for one that is no webhook. */
  url: string | null;
  isEnabled: boolean;
  /** `*` stands for every type. */
  types: readonly string[];
  /** `@self` for the platform's own events, `@accounts` for those of connected accounts. */
  from: readonly string[];
}
