import { PROCESSOR_KEY_HOURS } from "../../gateways/processorRecords.ts";
import type { PayoutStatus } from "../../schemas/payout.ts";

/** What a background job does next for a payout. */
export type PayoutStep = "transfer" | "payOut" | "poll" | "reverse";

/**
 * The states of a payout, each with the status that the API shows and the step that is due. `unfunded` waits for the
 * platform's balance, `settling` for the connected account's, where transferred money may take days to become
 * available. `returning` is a payout that the bank refused: the transfer is reversed first, and only then is the wallet
 * credited.
 */
export const payoutStates = {
  created: { status: "pending", step: "transfer" },
  unfunded: { status: "waiting_funds", step: "transfer" },
  transferred: { status: "pending", step: "payOut" },
  settling: { status: "waiting_funds", step: "payOut" },
  sent: { status: "in_transit", step: "poll" },
  paid: { status: "paid", step: "poll" },
  returning: { status: "in_transit", step: "reverse" },
  failed: { status: "failed", step: null },
} as const satisfies Record<string, { status: PayoutStatus; step: PayoutStep | null }>;

export type PayoutState = keyof typeof payoutStates;

/** What we can learn about a payout, from a response, an event or a poll. */
export type PayoutFact =
  | "transferMade"
  | "transferUnfunded"
  | "transferRefused"
  | "transferReversed"
  | "payoutUnfunded"
  | "payoutSent"
  | "payoutPaid"
  | "payoutRefused"
  | "payoutFailed";

/**
 * The state machine of a payout: where each fact leads from each state. A combination that is not listed changes
 * nothing, so facts may arrive in any order, late and repeatedly. Entering `failed` credits the wallet; no fact leads
 * out of it.
 */
const payoutTransitions: Record<PayoutFact, Partial<Record<PayoutState, PayoutState>>> = {
  transferMade: { created: "transferred", unfunded: "transferred" },
  transferUnfunded: { created: "unfunded" },
  transferRefused: { created: "failed", unfunded: "failed" },
  // Our balance has the whole amount back, so the wallet gets it back, whoever reversed the transfer.
  transferReversed: {
    created: "failed",
    unfunded: "failed",
    transferred: "failed",
    settling: "failed",
    sent: "failed",
    paid: "failed",
    returning: "failed",
  },
  payoutUnfunded: { transferred: "settling" },
  payoutSent: { transferred: "sent", settling: "sent" },
  payoutPaid: { transferred: "paid", settling: "paid", sent: "paid" },
  payoutRefused: { transferred: "returning", settling: "returning" },
  // A bank can send back even what was reported as paid.
  payoutFailed: { transferred: "returning", settling: "returning", sent: "returning", paid: "returning" },
};

/** Returns the state that a fact leads to, or the same state if the fact changes nothing. */
export function nextPayoutState(state: PayoutState, fact: PayoutFact): PayoutState {
  return payoutTransitions[fact][state] ?? state;
}

/** The fact behind a payout's status at the processor. A status newer than this code counts as still under way. */
export function factOfPayoutStatus(processorStatus: string): PayoutFact {
  if (processorStatus === "paid") return "payoutPaid";
  return processorStatus === "failed" || processorStatus === "canceled" ? "payoutFailed" : "payoutSent";
}

const RETRY_SECONDS = [1, 2, 5, 15, 60, 300];

/** Seconds until a step is retried: longer each time, but at most half the polling interval. */
export function retryDelaySeconds(attempts: number, pollSeconds: number): number {
  const scheduled = RETRY_SECONDS[Math.min(attempts, RETRY_SECONDS.length) - 1] ?? 1;
  return Math.min(scheduled, pollSeconds / 2);
}

/** Banks return payouts within days; after this long a paid payout is no longer polled. */
const LATE_FAILURE_SECONDS = 14 * 86_400;

/**
 * Seconds until the payout is polled again, or null for never. A payout under way is polled twice per polling interval,
 * a paid one less and less often, because few are returned.
 */
export function pollDelaySeconds(state: PayoutState, secondsSincePaid: number, pollSeconds: number): number | null {
  if (state !== "paid") return pollSeconds / 2;
  return secondsSincePaid > LATE_FAILURE_SECONDS ? null : Math.max(pollSeconds / 2, secondsSincePaid / 10);
}

/** Seconds until a new state's step is due, or null when nothing is left to do. */
export function firstStepDelaySeconds(state: PayoutState, pollSeconds: number): number | null {
  const { step } = payoutStates[state];
  if (step === null) return null;
  if (step === "poll") return pollDelaySeconds(state, 0, pollSeconds);
  return state === "unfunded" || state === "settling" ? retryDelaySeconds(1, pollSeconds) : 0;
}

const HOUR_MS = 3_600_000;

/**
 * Stripe forgets an idempotency key after 24 hours, and would then pay again. `fresh`: the call may be repeated.
 * `stale`: only a lookup is safe, and finding nothing proves nothing, because a call may still be under way. `expired`:
 * no call can be under way any more, so finding nothing means that nothing was done.
 */
export function ageOfKey(keyCreatedAt: Date, now: Date): "fresh" | "stale" | "expired" {
  const ageMs = now.getTime() - keyCreatedAt.getTime();
  if (ageMs < PROCESSOR_KEY_HOURS * HOUR_MS) return "fresh";
  return ageMs < 25 * HOUR_MS ? "stale" : "expired";
}
