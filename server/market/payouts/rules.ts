import type { PayoutStatus } from "../../schemas/payout.ts";

/** What a background job does next for a payout. */
export type PayoutStep = "transfer" | "payOut" | "poll" | "reverse";

/**
 * The states of a payout: what the API shows, and the step that is due in it. `unfunded` waits for the platform's balance,
 * `settling` for the connected account's, where transferred money may take days to become available. `returning` is a
 * payout that the bank refused: the money is fetched back from the connected account, and only then credited.
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

/** What can become known of a payout, by an answer, an event or a look. */
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
 * THE state machine of a payout: where each fact leads from each state. What is not listed changes nothing, so facts may
 * come in any order, late and again. Entering `failed` credits the wallet; no fact leads out of it.
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

/** The state that a fact leads to; the same one when it says nothing new. */
export function nextPayoutState(state: PayoutState, fact: PayoutFact): PayoutState {
  return payoutTransitions[fact][state] ?? state;
}

/** What a payout's status at the processor tells. A status newer than this code counts as still under way. */
export function factOfPayoutStatus(processorStatus: string): PayoutFact {
  if (processorStatus === "paid") return "payoutPaid";
  return processorStatus === "failed" || processorStatus === "canceled" ? "payoutFailed" : "payoutSent";
}

/** How long a step under way keeps others from the same payout: longer than its calls can take, shorter than patience. */
export const STEP_LEASE_SECONDS = 30;

const RETRY_SECONDS = [1, 2, 5, 15, 60, 300];

/** The wait before a step is tried again: longer each time, and never longer than what hangs may hang. */
export function retryDelaySeconds(attempts: number, pollSeconds: number): number {
  const scheduled = RETRY_SECONDS[Math.min(attempts, RETRY_SECONDS.length) - 1] ?? 1;
  return Math.min(scheduled, pollSeconds / 2);
}

/** Banks send payouts back within days; after this long what was paid stays paid, unless an event says otherwise. */
const LATE_FAILURE_SECONDS = 14 * 86_400;

/**
 * The wait before looking at the processor's payout again, or null for never. A payout under way is looked at twice in
 * the polling interval; one that was paid less and less often, since hardly any comes back.
 */
export function pollDelaySeconds(state: PayoutState, secondsSincePaid: number, pollSeconds: number): number | null {
  if (state !== "paid") return pollSeconds / 2;
  return secondsSincePaid > LATE_FAILURE_SECONDS ? null : Math.max(pollSeconds / 2, secondsSincePaid / 10);
}

/** The wait before a state's step is due for the first time, or null when nothing is left to do. */
export function firstStepDelaySeconds(state: PayoutState, pollSeconds: number): number | null {
  const { step } = payoutStates[state];
  if (step === null) return null;
  if (step === "poll") return pollDelaySeconds(state, 0, pollSeconds);
  return state === "unfunded" || state === "settling" ? retryDelaySeconds(1, pollSeconds) : 0;
}

const HOUR_MS = 3_600_000;

/**
 * Stripe forgets an idempotency key once it is 24 hours old, and would then pay again. `fresh`: the call may be repeated.
 * `stale`: only a look-up is safe, and nothing found proves nothing yet, since a call may be under way. `expired`: no call
 * can be under way any more, so nothing found means that nothing was done.
 */
export function ageOfKey(keyCreatedAt: Date, now: Date): "fresh" | "stale" | "expired" {
  const ageMs = now.getTime() - keyCreatedAt.getTime();
  if (ageMs < 22 * HOUR_MS) return "fresh";
  return ageMs < 25 * HOUR_MS ? "stale" : "expired";
}
