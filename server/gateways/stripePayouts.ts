import type Stripe from "stripe";
import type { Processor } from "./processor.ts";
import { collected, records, translated } from "./stripeCalls.ts";
import { payoutRecord, transferRecord } from "./stripeRecords.ts";

type PayoutCalls = Pick<
  Processor,
  | "createTransfer"
  | "findTransfers"
  | "reverseTransfer"
  | "createPayout"
  | "getPayout"
  | "findPayouts"
  | "listTransfers"
  | "listPayouts"
>;

/** Payments out of the platform: transfers to connected accounts, and from there payouts to banks. */
export function payoutCalls(stripe: Stripe): PayoutCalls {
  return {
    async createTransfer(input) {
      const parameters = {
        destination: input.accountId,
        amount: input.amountCents,
        currency: input.currency,
        transfer_group: input.transferGroup,
        metadata: { payoutId: input.payoutId },
      };
      const { idempotencyKey } = input;
      return { transferId: (await translated(stripe.transfers.create(parameters, { idempotencyKey }))).id };
    },

    async findTransfers(transferGroup) {
      return await collected(stripe.transfers.list({ transfer_group: transferGroup, limit: 100 }), transferRecord);
    },

    async reverseTransfer(input) {
      const { transferId, amountCents: amount, idempotencyKey } = input;
      const reversal = stripe.transfers.createReversal(transferId, { amount }, { idempotencyKey });
      return { reversalId: (await translated(reversal)).id };
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
      // Stripe cannot search payouts by metadata, but a connected account has few enough to read them all.
      const payouts = await collected(stripe.payouts.list({ limit: 100 }, { stripeAccount: accountId }), payoutRecord);
      return payouts.filter((payout) => payout.payoutId === payoutId);
    },

    listTransfers(createdSince) {
      return records(stripe.transfers.list({ created: { gte: createdSince }, limit: 100 }), transferRecord);
    },

    listPayouts(accountId, createdSince) {
      const list = stripe.payouts.list({ created: { gte: createdSince }, limit: 100 }, { stripeAccount: accountId });
      return records(list, payoutRecord);
    },
  };
}
