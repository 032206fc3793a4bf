import { randomUUID } from "node:crypto";
import Stripe from "stripe";
import { InvalidEventSignature, type Processor, type ProcessorSettings } from "./processor.ts";
import { collected, records, translated } from "./stripeCalls.ts";
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

function isSigned(
  stripe: Stripe,
  body: Buffer,
  header: string | undefined,
  secrets: readonly string[],
  now: Date,
): boolean {
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
