import type {
  CheckoutSession,
  EventDestination,
  ProcessorAccount,
  ProcessorBalanceTransaction,
  ProcessorDispute,
  ProcessorEvent,
  ProcessorPayout,
  ProcessorRefund,
  ProcessorTransfer,
} from "./processorRecords.ts";

export interface ProcessorSettings {
  secretKey: string;
  /** An event may be signed with any of them: one per destination, or two while a secret is being replaced. */
  webhookSecrets: readonly string[];
  /** The API's address, such as the embedded processor's `http://127.0.0.1:4010`; null for Stripe's own. */
  apiBase: string | null;
  /** Per call; 10 s by default. */
  timeoutMs?: number;
  /** Country of new connected accounts, two letters; "us" by default. */
  accountCountry?: string;
}

/**
 * The payment processor, as the rest of the service sees it. Only `stripe*.ts` know the `stripe` package: its objects
 * become records (`processorRecords.ts`), its errors one of a few classes (`processorErrors.ts`). Amounts are integer
 * cents, times are epoch seconds. Never make a call inside a database transaction.
 *
 * Every call that changes something carries the caller's idempotency key. Keep that key, with the parameters, until the
 * outcome is known: after `ProcessorUnavailable` repeat the call with the same ones, after `ProcessorRefused` use a new
 * key (Stripe replays a stored refusal for 24 hours).
 */
export interface Processor {
  createCheckoutSession(input: {
    topupId: string;
    userId: string;
    amountCents: number;
    currency: string;
    /** May contain `{CHECKOUT_SESSION_ID}`, which the processor fills in. */
    successUrl: string;
    cancelUrl: string;
    idempotencyKey: string;
  }): Promise<CheckoutSession>;
  getCheckoutSession(sessionId: string): Promise<CheckoutSession>;
  /** Closes a page that nobody has paid. Throws `ProcessorRefused` if the session is no longer open. */
  expireCheckoutSession(input: { sessionId: string; idempotencyKey: string }): Promise<CheckoutSession>;
  /** The session that led to this payment, or null if the payment was made in another way. */
  findCheckoutSession(paymentIntentId: string): Promise<CheckoutSession | null>;

  /** All refunds and disputes of a payment as they are now; an event may be out of date. */
  findRefunds(paymentIntentId: string): Promise<ProcessorRefund[]>;
  findDisputes(paymentIntentId: string): Promise<ProcessorDispute[]>;

  createAccount(input: {
    userId: string;
    email: string;
    displayName: string;
    idempotencyKey: string;
  }): Promise<{ accountId: string }>;
  /**
   * The account that was created for a user since then, or null. Needed once the processor may have forgotten the
   * idempotency key. An older account of the same user has been abandoned.
   */
  findAccount(userId: string, since: Date): Promise<{ accountId: string } | null>;
  /** Without this, the processor pays out everything daily that we transfer to the account. Safe to repeat. */
  stopAutomaticPayouts(accountId: string): Promise<void>;
  /** The link works once, for a few minutes; `expiresAt` is in epoch seconds. */
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
  /** The transfers of a group. Needed to learn an outcome once the idempotency key is older than 24 hours. */
  findTransfers(transferGroup: string): Promise<ProcessorTransfer[]>;
  /** Connected account → platform, after a failed payout. */
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
  /** The account's payouts at the processor that were made for `payoutId`, one of our own payouts. */
  findPayouts(accountId: string, payoutId: string): Promise<ProcessorPayout[]>;

  /** The available balance in cents; `accountId` null means the platform's own. */
  getBalanceCents(accountId: string | null, currency: string): Promise<number>;
  /** The platform's own balance in cents, with what is not available yet. */
  getTotalCents(currency: string): Promise<number>;

  /**
   * The platform's own events of these types (at most 20), delivered or not, from the newest to the oldest, back to
   * `createdSince` (epoch seconds). Excludes events of connected accounts and thin events.
   */
  listEvents(types: readonly string[], createdSince: number): AsyncIterable<ProcessorEvent>;

  /** Every place that the processor sends events to. */
  listEventDestinations(): AsyncIterable<EventDestination>;

  /** For audits. All lists run from the newest to the oldest, back to `createdSince` (epoch seconds). */
  listCheckoutPayments(createdSince: number): AsyncIterable<CheckoutSession>;
  listTransfers(createdSince: number): AsyncIterable<ProcessorTransfer>;
  listPayouts(accountId: string, createdSince: number): AsyncIterable<ProcessorPayout>;
  /** `accountId` null means the platform's own balance. */
  listBalanceTransactions(accountId: string | null, createdSince: number): AsyncIterable<ProcessorBalanceTransaction>;

  /**
   * Checks the signature over the raw bytes (any of the secrets, at most 300 s old at `now`) and reads the event.
   * Rejects with `InvalidEventSignature`.
   */
  verifyEvent(rawBody: Buffer, signatureHeader: string | undefined, now: Date): Promise<ProcessorEvent>;
}
