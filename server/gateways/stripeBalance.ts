import type Stripe from "stripe";
import type { Processor } from "./processor.ts";
import { records, translated } from "./stripeCalls.ts";
import { balanceTransactionRecord } from "./stripeRecords.ts";

/** Balances and what changed them. */
export function balanceCalls(
  stripe: Stripe,
): Pick<Processor, "getBalanceCents" | "getTotalCents" | "listBalanceTransactions"> {
  return {
    async getBalanceCents(accountId, currency) {
      const { available } = await translated(stripe.balance.retrieve({}, onBehalfOf(accountId)));
      return centsIn(currency, available);
    },

    async getTotalCents(currency) {
      const { available, pending } = await translated(stripe.balance.retrieve());
      return centsIn(currency, [...available, ...pending]);
    },

    listBalanceTransactions(accountId, createdSince) {
      const parameters = { created: { gte: createdSince }, limit: 100, expand: ["data.source"] };
      const list = stripe.balanceTransactions.list(parameters, onBehalfOf(accountId));
      return records(list, balanceTransactionRecord);
    },
  };
}

function centsIn(currency: string, parts: { amount: number; currency: string }[]): number {
  return parts.filter((part) => part.currency === currency).reduce((sum, { amount }) => sum + amount, 0);
}

function onBehalfOf(accountId: string | null): Stripe.RequestOptions {
  return accountId === null ? {} : { stripeAccount: accountId };
}
