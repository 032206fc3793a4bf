/**
 * The payment processor, as the rest of the service sees it. Only this file and `stripeRecords.ts` know the `stripe`
 * package: its objects become small plain records, and its errors one of the few classes below. Amounts are integer
 * cents, times are epoch seconds. No call here may stand inside a database transaction.
 *
 * Every call that changes something carries the caller's idempotency key. Keep that key, with the parameters, until the
 * outcome is known: after `ProcessorUnavailable` call again with the same ones, after `ProcessorRefused` take a new key
 * (Stripe replays a stored refusal for 24 hours).
 */
import { randomUUID } from "node:crypto";
import Stripe from "stripe";
import {
  balanceTransactionRecord,
  checkoutSession,
  disputeRecord,
  eventRecord,
  payoutRecord,
  readEvent,
  refundRecord,
  transferRecord,
} from "./stripeRecords.ts";

export interface ProcessorSettings {
  secretKey: string;
  /** Any of them may have signed an event: several while a secret is being replaced, or one for each destination. */
  webhookSecrets: string[];
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

const eventToleranceSeconds = 300;

/** Makes the gateway. It opens no connection before the first call. */
export function stripeProcessor(settings: ProcessorSettings): Processor {
  const stripe = new Stripe(settings.secretKey, {
    ...addressOf(settings.apiBase),
    // Our jobs retry, with the stored key; a retry in here would only hide how long an answer took.
    maxNetworkRetries: 0,
    timeout: settings.timeoutMs ?? 10_000,
    telemetry: false,
    appInfo: { name: "Rebid" },
  });

  return {
    async createCheckoutSession(input) {
      const metadata = { topupId: input.topupId, userId: input.userId };
      const session = await translated(
        stripe.checkout.sessions.create(
          {
            mode: "payment",
            client_reference_id: input.topupId,
            metadata,
            payment_intent_data: { metadata },
            line_items: [
              {
                quantity: 1,
                price_data: {
                  currency: input.currency,
                  unit_amount: input.amountCents,
                  product_data: { name: "Rebid wallet top-up" },
                },
              },
            ],
            success_url: input.successUrl,
            cancel_url: input.cancelUrl,
          },
          { idempotencyKey: input.idempotencyKey },
        ),
      );
      return checkoutSession(session);
    },

    async getCheckoutSession(sessionId) {
      const session = stripe.checkout.sessions.retrieve(sessionId, { expand: ["payment_intent"] });
      return checkoutSession(await translated(session));
    },

    async findCheckoutSession(paymentIntentId) {
      const sessions = stripe.checkout.sessions.list({ payment_intent: paymentIntentId, limit: 1 });
      const [session] = (await translated(sessions)).data;
      return session === undefined ? null : checkoutSession(session);
    },

    async findRefunds(paymentIntentId) {
      return await collected(stripe.refunds.list({ payment_intent: paymentIntentId, limit: 100 }), refundRecord);
    },

    async findDisputes(paymentIntentId) {
      return await collected(stripe.disputes.list({ payment_intent: paymentIntentId, limit: 100 }), disputeRecord);
    },

    async createAccount(input) {
      const account = await translated(
        stripe.v2.core.accounts.create(
          {
            contact_email: input.email,
            display_name: input.displayName,
            dashboard: "express",
            identity: { country: settings.accountCountry ?? "us" },
            configuration: {
              recipient: { capabilities: { stripe_balance: { stripe_transfers: { requested: true } } } },
            },
            // With the Express dashboard the platform answers for fees and losses; Stripe collects the requirements.
            defaults: { responsibilities: { fees_collector: "application", losses_collector: "application" } },
            metadata: { userId: input.userId },
          },
          { idempotencyKey: input.idempotencyKey },
        ),
      );
      return { accountId: account.id };
    },

    async findAccount(userId) {
      // Stripe cannot search accounts by metadata, so all of them are read; hardly ever, since an answer must be lost first.
      for await (const { id, metadata } of records(stripe.v2.core.accounts.list(), (raw) => raw)) {
        if (metadata?.userId === userId) return { accountId: id };
      }
      return null;
    },

    async stopAutomaticPayouts(accountId) {
      await translated(
        stripe.balanceSettings.update(
          { payments: { payouts: { schedule: { interval: "manual" } } } },
          { idempotencyKey: randomUUID(), stripeAccount: accountId },
        ),
      );
    },

    async createOnboardingLink(input) {
      const link = await translated(
        stripe.v2.core.accountLinks.create(
          {
            account: input.accountId,
            use_case: {
              type: "account_onboarding",
              account_onboarding: { return_url: input.returnUrl, refresh_url: input.refreshUrl },
            },
          },
          // A link is used once and moves no money: every call wants a new one.
          { idempotencyKey: randomUUID() },
        ),
      );
      return { url: link.url, expiresAt: Math.floor(Date.parse(link.expires_at) / 1000) };
    },

    async getAccount(accountId) {
      const account = await translated(
        stripe.v2.core.accounts.retrieve(accountId, { include: ["configuration.recipient", "identity"] }),
      );
      const balance = account.configuration?.recipient?.capabilities?.stripe_balance;
      return {
        accountId: account.id,
        transfersActive: balance?.stripe_transfers?.status === "active",
        payoutsActive: balance?.payouts?.status === "active",
        onboardingStarted: account.identity?.entity_type !== undefined,
      };
    },

    async createTransfer(input) {
      const transfer = await translated(
        stripe.transfers.create(
          {
            destination: input.accountId,
            amount: input.amountCents,
            currency: input.currency,
            transfer_group: input.transferGroup,
            metadata: { payoutId: input.payoutId },
          },
          { idempotencyKey: input.idempotencyKey },
        ),
      );
      return { transferId: transfer.id };
    },

    async findTransfers(transferGroup) {
      return await collected(stripe.transfers.list({ transfer_group: transferGroup, limit: 100 }), transferRecord);
    },

    async reverseTransfer(input) {
      const reversal = await translated(
        stripe.transfers.createReversal(
          input.transferId,
          { amount: input.amountCents },
          { idempotencyKey: input.idempotencyKey },
        ),
      );
      return { reversalId: reversal.id };
    },

    async createPayout(input) {
      const payout = await translated(
        stripe.payouts.create(
          { amount: input.amountCents, currency: input.currency, metadata: { payoutId: input.payoutId } },
          { idempotencyKey: input.idempotencyKey, stripeAccount: input.accountId },
        ),
      );
      return payoutRecord(payout);
    },

    async getPayout(accountId, processorPayoutId) {
      const payout = await translated(stripe.payouts.retrieve(processorPayoutId, {}, { stripeAccount: accountId }));
      return payoutRecord(payout);
    },

    async findPayouts(accountId, payoutId) {
      // Stripe cannot search payouts by metadata; a connected account has few enough to read them all.
      const payouts = await collected(stripe.payouts.list({ limit: 100 }, { stripeAccount: accountId }), payoutRecord);
      return payouts.filter((payout) => payout.payoutId === payoutId);
    },

    async getBalanceCents(accountId, currency) {
      const { available } = await translated(stripe.balance.retrieve({}, onBehalfOf(accountId)));
      return available.filter((part) => part.currency === currency).reduce((sum, { amount }) => sum + amount, 0);
    },

    listEvents(types, createdSince) {
      const list = stripe.events.list({ types: [...types], created: { gte: createdSince }, limit: 100 });
      return records(list, eventRecord);
    },

    async *listCheckoutPayments(createdSince) {
      const sessions = stripe.checkout.sessions.list({
        created: { gte: createdSince },
        status: "complete",
        limit: 100,
      });
      for await (const session of records(sessions, checkoutSession)) {
        if (session.paymentStatus === "paid") yield session;
      }
    },

    listTransfers(createdSince) {
      return records(stripe.transfers.list({ created: { gte: createdSince }, limit: 100 }), transferRecord);
    },

    listPayouts(accountId, createdSince) {
      const list = stripe.payouts.list({ created: { gte: createdSince }, limit: 100 }, { stripeAccount: accountId });
      return records(list, payoutRecord);
    },

    listBalanceTransactions(accountId, createdSince) {
      const parameters = { created: { gte: createdSince }, limit: 100, expand: ["data.source"] };
      const list = stripe.balanceTransactions.list(parameters, onBehalfOf(accountId));
      return records(list, balanceTransactionRecord);
    },

    verifyEvent(rawBody, signatureHeader, now) {
      if (!isSigned(stripe, rawBody, signatureHeader, settings.webhookSecrets, now)) {
        throw new InvalidEventSignature("The event's signature is missing, wrong or older than 300 seconds.");
      }
      const event = readEvent(rawBody);
      if (event === null) throw new InvalidEventSignature("The signed body is not an event.");
      return event;
    },
  };
}

function addressOf(apiBase: string | null): Stripe.StripeConfig {
  if (apiBase === null) return {};
  const url = new URL(apiBase);
  const protocol = url.protocol === "https:" ? "https" : "http";
  return { protocol, host: url.hostname, port: url.port === "" ? (protocol === "https" ? 443 : 80) : url.port };
}

function onBehalfOf(accountId: string | null): Stripe.RequestOptions {
  return accountId === null ? {} : { stripeAccount: accountId };
}

async function translated<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw translate(error);
  }
}

async function* records<Raw, Result>(list: AsyncIterable<Raw>, read: (raw: Raw) => Result): AsyncGenerator<Result> {
  try {
    for await (const raw of list) yield read(raw);
  } catch (error) {
    throw translate(error);
  }
}

async function collected<Raw, Result>(list: AsyncIterable<Raw>, read: (raw: Raw) => Result): Promise<Result[]> {
  const result: Result[] = [];
  for await (const record of records(list, read)) result.push(record);
  return result;
}

/** The one place where Stripe's errors become ours. What is not an error of Stripe's stays as it is: a bug. */
function translate(error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  const status = error.statusCode;
  const options = { cause: error };
  if (status === undefined || status >= 500 || status === 429 || status === 409 || isAboutOurKey(error)) {
    return new ProcessorUnavailable(error.message, options);
  }
  if (error.rawType === "idempotency_error") return new IdempotencyKeyReused(error.message, options);
  const code = error.code ?? error.rawType ?? `http_${status}`;
  if (code === "balance_insufficient") return new BalanceTooLow(code, error.message, options);
  return new ProcessorRefused(code, error.message, options);
}

/**
 * Our own key is wrong, being replaced or lacks a permission: not the fault of this payment, so it waits. The 403 that says
 * something of the payment is the one about an account that is not, or no longer, connected to us.
 */
function isAboutOurKey({ statusCode, code }: Stripe.errors.StripeError): boolean {
  return statusCode === 401 || (statusCode === 403 && code !== "account_invalid");
}

function isSigned(stripe: Stripe, body: Buffer, header: string | undefined, secrets: string[], now: Date): boolean {
  const { signature } = stripe.webhooks;
  if (signature === null) throw new Error("the stripe package cannot check signatures");
  if (header === undefined) return false;
  const receivedAt = now.getTime();
  return secrets.some((secret) => {
    try {
      return signature.verifyHeader(body, header, secret, eventToleranceSeconds, undefined, receivedAt);
    } catch {
      // Some headers that nobody signed make the package throw a plain Error. All else that it is given here is ours and
      // well formed, so whatever it throws is a forgery.
      return false;
    }
  });
}
