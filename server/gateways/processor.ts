/**
 * The payment processor, as the rest of the service sees it. Only this file and `stripeRecords.ts` know the `stripe`
 * package: its objects become small plain records, and its errors one of the few classes below. Amounts are integer
 * cents, times are epoch seconds. No call here may stand inside a database transaction.
 *
 * Every call that changes something carries the caller's idempotency key. Keep that key, with the parameters, until the
 * outcome is known: after `ProcessorUnavailable` call again with the same ones, after `ProcessorRefused` take a new key
 * (Stripe replays a stored refusal for 24 hours).
 */
export interface ProcessorSettings {
  secretKey: string;
  /** Any of them may have signed an event: several while a secret is being replaced, or one for each destination. */
  webhookSecrets: readonly string[];
  /** Another address than Stripe's own, such as the embedded processor's `http://127.0.0.1:4010`. */
  apiBase: string | null;
  /** For one call; 10 s unless told. */
  timeoutMs?: number;
  /** Country of new connected accounts, two letters; "us" unless told. */
  accountCountry?: string;
}

/**
 * The outcome is unknown (network, time-out, 5xx), it is too early (429, 409), or our key may not do this (401, 403): call
 * again with the same idempotency key.
 */
export class ProcessorUnavailable extends Error {
  override readonly name: string = "ProcessorUnavailable";
}

/**
 * The key was used before with other parameters, so a call of that key may well have succeeded. This is our own
 * mistake, and a new key would risk paying twice: look up what exists, then repair by hand.
 */
export class IdempotencyKeyReused extends ProcessorUnavailable {
  override readonly name: string = "IdempotencyKeyReused";
}

/** A definite refusal (other 4xx): nothing was done. `code` is Stripe's error code, or its error type when it gave none. */
export class ProcessorRefused extends Error {
  override readonly name: string = "ProcessorRefused";
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The paying balance (the platform's for a transfer, the account's for a payout) does not cover the amount yet. */
export class BalanceTooLow extends ProcessorRefused {
  override readonly name: string = "BalanceTooLow";
}

/** Not an event that the processor signed within the last 300 s. */
export class InvalidEventSignature extends Error {
  override readonly name: string = "InvalidEventSignature";
}

export interface CheckoutSession {
  id: string;
  /** Where the person pays; null once the session is closed. */
  url: string | null;
  status: "open" | "complete" | "expired" | (string & {});
  /** "paid", "unpaid" (also while a slow payment method is under way) or a value newer than this code. */
  paymentStatus: string;
  paymentIntentId: string | null;
  amountCents: number | null;
  currency: string | null;
  /**
   * Our top-up's id as `createCheckoutSession` noted it. From the metadata, which only our key can write: the client
   * reference of a payment link is whatever its address says.
   */
  topupId: string | null;
  /** A slow payment failed for good. Known only when the session was asked for, not from a list or an event. */
  paymentFailed: boolean;
  /** Epoch seconds. */
  expiresAt: number;
}

export interface ProcessorAccount {
  accountId: string;
  transfersActive: boolean;
  payoutsActive: boolean;
  /** The person has entered something in the onboarding pages. */
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
  /** Stripe's code, such as "account_closed", and its words, which are for operators. */
  failureCode: string | null;
  failureMessage: string | null;
  /** When the bank should have it, epoch seconds. */
  arrivalDate: number;
  /** Epoch seconds. */
  createdAt: number;
}

export interface ProcessorRefund {
  id: string;
  status: "pending" | "succeeded" | "failed" | "canceled" | "requires_action" | (string & {});
  amountCents: number;
  paymentIntentId: string | null;
  /** Set when the money left the platform's balance. */
  balanceTransactionId: string | null;
  /** Set when it came back, because the refund failed. */
  failureBalanceTransactionId: string | null;
  /** Epoch seconds. */
  createdAt: number;
}

export interface ProcessorDispute {
  id: string;
  status: "needs_response" | "under_review" | "won" | "lost" | (string & {});
  amountCents: number;
  /** What it did to the platform's balance so far: negative when withdrawn, positive when reinstated. */
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
  /** The object behind it: its id and its kind, such as "refund", "dispute", "charge", "transfer". */
  sourceId: string | null;
  sourceKind: string | null;
  /** The payment that a refund or dispute behind it belongs to. */
  paymentIntentId: string | null;
  /** Epoch seconds. */
  createdAt: number;
}

/** Every text in it can be stored: see `storable` in stripeRecords.ts. */
export interface ProcessorEvent {
  id: string;
  type: string;
  /** The connected account it happened on, and whose money it is about; null for the platform's own. */
  account: string | null;
  /** Snapshot events: the object as it was then. Thin events: null, fetch the related object. */
  data: unknown;
  relatedObjectId: string | null;
}

export interface Processor {
  createCheckoutSession(input: {
    topupId: string;
    userId: string;
    amountCents: number;
    currency: string;
    /** May hold `{CHECKOUT_SESSION_ID}`, which the processor fills in. */
    successUrl: string;
    cancelUrl: string;
    idempotencyKey: string;
  }): Promise<CheckoutSession>;
  getCheckoutSession(sessionId: string): Promise<CheckoutSession>;
  /** The session whose payment this is; null when the payment came about otherwise. */
  findCheckoutSession(paymentIntentId: string): Promise<CheckoutSession | null>;

  /** All refunds and disputes of a payment as they are now: what an event said may be older. */
  findRefunds(paymentIntentId: string): Promise<ProcessorRefund[]>;
  findDisputes(paymentIntentId: string): Promise<ProcessorDispute[]>;

  createAccount(input: {
    userId: string;
    email: string;
    displayName: string;
    idempotencyKey: string;
  }): Promise<{ accountId: string }>;
  /** The account that was made for a user, or null: the way to learn it once the idempotency key may be forgotten. */
  findAccount(userId: string): Promise<{ accountId: string } | null>;
  /** Else the processor pays out by itself, every day, whatever we transfer. Repeating it is harmless. */
  stopAutomaticPayouts(accountId: string): Promise<void>;
  /** A link works once and for a few minutes; `expiresAt` is in epoch seconds. */
  createOnboardingLink(input: {
    accountId: string;
    returnUrl: string;
    refreshUrl: string;
  }): Promise<{ url: string; expiresAt: number }>;
  getAccount(accountId: string): Promise<ProcessorAccount>;

  /** Platform → connected account. Throws `BalanceTooLow` while the platform's balance does not cover it. */
  createTransfer(input: {
    accountId: string;
    amountCents: number;
    currency: string;
    transferGroup: string;
    payoutId: string;
    idempotencyKey: string;
  }): Promise<{ transferId: string }>;
  /** What exists for a group: the way to learn an outcome once the idempotency key is older than 24 hours. */
  findTransfers(transferGroup: string): Promise<ProcessorTransfer[]>;
  /** Connected account → platform, after a payout that failed. */
  reverseTransfer(input: {
    transferId: string;
    amountCents: number;
    idempotencyKey: string;
  }): Promise<{ reversalId: string }>;

  /** Connected account → bank. */
  createPayout(input: {
    accountId: string;
    amountCents: number;
    currency: string;
    payoutId: string;
    idempotencyKey: string;
  }): Promise<ProcessorPayout>;
  getPayout(accountId: string, processorPayoutId: string): Promise<ProcessorPayout>;
  findPayouts(accountId: string, payoutId: string): Promise<ProcessorPayout[]>;

  /** What is available on a balance, in cents; `accountId` null means the platform's own. */
  getBalanceCents(accountId: string | null, currency: string): Promise<number>;

  /**
   * The platform's own events of these types (at most 20), delivered or not, from the newest to the oldest, back to
   * `createdSince` (epoch seconds). Those of connected accounts and thin ones are not among them.
   */
  listEvents(types: readonly string[], createdSince: number): AsyncIterable<ProcessorEvent>;

  /** For audits. All lists run from the newest to the oldest, back to `createdSince` (epoch seconds). */
  listCheckoutPayments(createdSince: number): AsyncIterable<CheckoutSession>;
  listTransfers(createdSince: number): AsyncIterable<ProcessorTransfer>;
  listPayouts(accountId: string, createdSince: number): AsyncIterable<ProcessorPayout>;
  /** `accountId` null means the platform's own balance. */
  listBalanceTransactions(accountId: string | null, createdSince: number): AsyncIterable<ProcessorBalanceTransaction>;

  /**
   * Checks the signature over the raw bytes (any of the secrets, at most 300 s old at `now`) and reads the event.
   * Throws `InvalidEventSignature`.
   */
  verifyEvent(rawBody: Buffer, signatureHeader: string | undefined, now: Date): ProcessorEvent;
}
