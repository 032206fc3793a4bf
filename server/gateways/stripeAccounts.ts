import { randomUUID } from "node:crypto";
import type Stripe from "stripe";
import type { Processor } from "./processor.ts";
import { records, translated } from "./stripeCalls.ts";

/** How far the processor's clock may differ from ours. */
const CLOCK_TOLERANCE_MS = 60_000;

type AccountCalls = Pick<
  Processor,
  "createAccount" | "findAccount" | "stopAutomaticPayouts" | "createOnboardingLink" | "getAccount"
>;

/** Connected accounts and their onboarding. */
export function accountCalls(stripe: Stripe, accountCountry: string): AccountCalls {
  return {
    async createAccount(input) {
      const { idempotencyKey } = input;
      const account = stripe.v2.core.accounts.create(accountParameters(input, accountCountry), { idempotencyKey });
      return { accountId: (await translated(account)).id };
    },

    async findAccount(userId, since) {
      const earliest = since.getTime() - CLOCK_TOLERANCE_MS;
      // Stripe cannot search accounts by metadata, so this reads all of them. Only needed after a response was lost.
      for await (const { id, metadata, created } of records(stripe.v2.core.accounts.list(), (raw) => raw)) {
        if (metadata?.userId === userId && Date.parse(created) >= earliest) return { accountId: id };
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
          // A link works once and moves no money: every call needs a new one.
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
        userId: account.metadata?.userId ?? null,
        transfersActive: balance?.stripe_transfers?.status === "active",
        payoutsActive: balance?.payouts?.status === "active",
        onboardingStarted: account.identity?.entity_type !== undefined,
      };
    },
  };
}

function accountParameters(
  { email, displayName, userId }: Parameters<Processor["createAccount"]>[0],
  country: string,
): Stripe.V2.Core.AccountCreateParams {
  return {
    contact_email: email,
    display_name: displayName,
    dashboard: "express",
    identity: { country },
    configuration: { recipient: { capabilities: { stripe_balance: { stripe_transfers: { requested: true } } } } },
    // With the Express dashboard the platform is liable for fees and losses, and Stripe collects the requirements.
    defaults: { responsibilities: { fees_collector: "application", losses_collector: "application" } },
    metadata: { userId },
  };
}
