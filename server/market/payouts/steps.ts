import { BalanceTooLow, type ProcessorRefused } from "../../gateways/processorErrors.ts";
import type { ProcessorPayout, ProcessorTransfer } from "../../gateways/processorRecords.ts";
import type { Services } from "../../services.ts";
import { failureOf, type PayoutFailure } from "./failures.ts";
import type { FactDetails } from "./records.ts";
import { factOfPayoutStatus, type PayoutFact, type PayoutStep } from "./rules.ts";
import type { LeasedPayout } from "./takeStep.ts";

/**
 * The result of a step: a fact about the payout, or a retry. A retry keeps the idempotency key while the outcome is
 * unknown, and takes a new one only after a definite refusal, which Stripe would replay for the old key.
 */
export type StepResult = ({ fact: PayoutFact; newKey?: boolean } & FactDetails) | { retry: "sameKey" | "newKey" };

/** The calls of one step to the processor. All throw ProcessorUnavailable or ProcessorRefused. */
export interface StepCalls {
  /** Performs the step with the lease's idempotency key. */
  call(services: Services, leased: LeasedPayout): Promise<StepResult>;
  /** Looks up the result of an earlier call of the step; null when there is none. */
  find(services: Services, leased: LeasedPayout): Promise<StepResult | null>;
  /** Interprets a definite refusal of `call`. */
  refused(services: Services, leased: LeasedPayout, error: ProcessorRefused): Promise<StepResult> | StepResult;
}

export const steps: Record<PayoutStep, StepCalls> = {
  transfer: {
    async call({ processor }, { id, accountId, amountCents, currency, idempotencyKey }) {
      const { transferId } = await processor.createTransfer({
        ...{ accountId, amountCents, currency, idempotencyKey },
        transferGroup: id,
        payoutId: id,
      });
      return { fact: "transferMade", transferId };
    },
    async find({ processor }, leased) {
      const [transfer] = await processor.findTransfers(leased.id);
      if (transfer === undefined) return null;
      const fact = isReversed(transfer, leased) ? "transferReversed" : "transferMade";
      return { fact, transferId: transfer.transferId };
    },
    async refused(services, leased, error) {
      if (error instanceof BalanceTooLow) return { fact: "transferUnfunded", newKey: true };
      // A refusal may ignore the key: an earlier call whose response was lost may have made the transfer.
      return (
        (await steps.transfer.find(services, leased)) ?? { fact: "transferRefused", failure: failureOfRefusal(error) }
      );
    },
  },
  payOut: {
    async call({ processor }, { id, accountId, amountCents, currency, idempotencyKey }) {
      const payout = await processor.createPayout({ accountId, amountCents, currency, idempotencyKey, payoutId: id });
      return payoutResult(payout);
    },
    async find({ processor }, leased) {
      const [payout] = await processor.findPayouts(leased.accountId, leased.id);
      return payout === undefined ? null : payoutResult(payout);
    },
    async refused(services, leased, error) {
      if (error instanceof BalanceTooLow) return { fact: "payoutUnfunded", newKey: true };
      // As for a transfer, except that the first attempt has no earlier call to look up; on a closed account it would
      // fail.
      const made = leased.attempts === 1 ? null : await steps.payOut.find(services, leased);
      return made ?? { fact: "payoutRefused", failure: failureOfRefusal(error) };
    },
  },
  poll: {
    async call({ processor }, { accountId, processorPayoutId }) {
      return payoutResult(await processor.getPayout(accountId, processorPayoutId ?? ""));
    },
    find: async () => null,
    refused: logAndRetry("a payout that was sent cannot be read"),
  },
  reverse: {
    async call({ processor }, { transferId, amountCents, idempotencyKey }) {
      await processor.reverseTransfer({ transferId: transferId ?? "", amountCents, idempotencyKey });
      return { fact: "transferReversed" };
    },
    async find({ processor }, leased) {
      const [transfer] = await processor.findTransfers(leased.id);
      return transfer !== undefined && isReversed(transfer, leased) ? { fact: "transferReversed" } : null;
    },
    async refused(services, leased, error) {
      // The account may not have the money back yet. Any other refusal may mean that the transfer was reversed by hand.
      if (error instanceof BalanceTooLow) return { retry: "newKey" };
      return (
        (await steps.reverse.find(services, leased)) ??
        logAndRetry("a transfer cannot be reversed")(services, leased, error)
      );
    },
  },
};

function logAndRetry(message: string) {
  return (services: Services, leased: LeasedPayout, error: ProcessorRefused): StepResult => {
    services.log.error({ payoutId: leased.id, error }, message);
    return { retry: "newKey" };
  };
}

function isReversed(transfer: ProcessorTransfer, { amountCents }: LeasedPayout): boolean {
  return transfer.reversedCents >= amountCents;
}

function failureOfRefusal({ code, message }: ProcessorRefused): PayoutFailure {
  return { code, processorMessage: message };
}

function payoutResult(payout: ProcessorPayout): StepResult {
  return { fact: factOfPayoutStatus(payout.status), processorPayoutId: payout.id, failure: failureOf(payout) };
}
