import {
  BalanceTooLow,
  IdempotencyKeyReused,
  type ProcessorPayout,
  ProcessorRefused,
  type ProcessorTransfer,
  ProcessorUnavailable,
} from "../../gateways/processor.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { syncPayoutAccount } from "./accounts.ts";
import { failureOf, type PayoutFailure } from "./failures.ts";
import { lockPayout, type PayoutFindings, type PayoutRecord, recordPayoutFact } from "./records.ts";
import {
  ageOfKey,
  factOfPayoutStatus,
  type PayoutFact,
  payoutStates,
  pollDelaySeconds,
  retryDelaySeconds,
  STEP_LEASE_SECONDS,
} from "./rules.ts";

/** A payout whose next step this process has taken: the key of its call is stored before the call is made. */
interface Claim extends PayoutRecord {
  idempotencyKey: string;
  keyCreatedAt: string;
}

/**
 * What a step's call taught: a fact, or that it must be tried again. With the same key as long as the outcome is unknown;
 * with a new one only after a definite refusal, which Stripe would replay for the old key.
 */
type StepResult = ({ fact: PayoutFact; newKey?: boolean } & PayoutFindings) | { retry: "sameKey" | "newKey" };

/**
 * Takes a payout one step further: transfer, payout to the bank, a look at it, or the way back. It commits its claim and
 * the call's key, makes the call outside any transaction, and commits what came of it. Dying anywhere in between leaves a
 * claim that ends by itself; the next one repeats the call with the same key and parameters, so it is done once.
 */
export async function advancePayout(services: Services, { payoutId }: JobPayload<"advancePayout">): Promise<void> {
  const claim = await claimStep(services, payoutId);
  if (claim === null) return;
  const result = await runStep(services, claim);
  await recordResult(services, claim, result);
  if ("fact" in result && (result.fact === "transferRefused" || result.fact === "payoutRefused")) {
    // Most refusals mean that the account may not be paid any more: the next payout should be told so at once.
    await syncPayoutAccount(services, claim.accountId).catch((error: unknown) =>
      services.log.warn({ payoutId, error }, "the account of a refused payout could not be fetched"),
    );
  }
}

async function claimStep({ database, clock }: Services, payoutId: string): Promise<Claim | null> {
  const now = clock.now();
  return database.transaction(async (tx) => {
    const payout = await lockPayout(tx, sql`id = ${payoutId}::uuid`);
    if (payout === null || payout.nextStepAt === null || new Date(payout.nextStepAt) > now) return null;
    const idempotencyKey = payout.idempotencyKey ?? `payout-${crypto.randomUUID()}`;
    const keyCreatedAt = payout.keyCreatedAt ?? now.toISOString();
    const attempts = payout.attempts + 1;
    await tx.query(sql`
      UPDATE payouts SET idempotency_key = ${idempotencyKey}, key_created_at = ${keyCreatedAt}::timestamptz,
        attempts = ${attempts}, next_step_at = ${after(now, STEP_LEASE_SECONDS)}::timestamptz
      WHERE id = ${payout.id}::uuid`);
    return { ...payout, idempotencyKey, keyCreatedAt, attempts };
  });
}

const refusals: readonly PayoutFact[] = ["transferUnfunded", "transferRefused", "payoutUnfunded", "payoutRefused"];

async function recordResult(services: Services, claim: Claim, result: StepResult): Promise<void> {
  const { database, clock, settings } = services;
  const now = clock.now();
  const pollSeconds = settings.processorPollSeconds;
  await database.transaction(async (tx) => {
    const payout = await lockPayout(tx, sql`id = ${claim.id}::uuid`);
    if (payout === null) return;
    if ("fact" in result) {
      const { fact, newKey: _, ...findings } = result;
      // A refusal speaks of its own key only: a call with another one may be under way, and succeed.
      if (refusals.includes(fact) && payout.idempotencyKey !== claim.idempotencyKey) return;
      const state = await recordPayoutFact(tx, payout, fact, findings, services);
      if (state !== payout.state) return;
    }
    // An event may have moved the payout on during the call, or another process have taken a step that took too long.
    if (payout.state !== claim.state || payout.attempts !== claim.attempts) return;
    const isPoll = payoutStates[payout.state].step === "poll";
    const delaySeconds = isPoll
      ? pollDelaySeconds(payout.state, secondsBetween(payout.paidAt, now), pollSeconds)
      : retryDelaySeconds(claim.attempts, pollSeconds) * jitter();
    const nextStepAt = delaySeconds === null ? null : after(now, delaySeconds);
    const forgetKey = isPoll || ("fact" in result ? result.newKey === true : result.retry === "newKey");
    await tx.query(sql`
      UPDATE payouts SET next_step_at = ${nextStepAt}::timestamptz,
        idempotency_key = CASE WHEN ${forgetKey} THEN NULL ELSE idempotency_key END,
        key_created_at = CASE WHEN ${forgetKey} THEN NULL ELSE key_created_at END
      WHERE id = ${claim.id}::uuid`);
    if (nextStepAt !== null && !isPoll) {
      await tx.jobs.add("advancePayout", { payoutId: claim.id }, { runAt: new Date(nextStepAt) });
    }
  });
}

/** Payouts that failed together do not all come back together. */
const jitter = () => 0.9 + Math.random() * 0.2;
const after = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
const secondsBetween = (earlier: string | null, now: Date) =>
  earlier === null ? 0 : (now.getTime() - new Date(earlier).getTime()) / 1000;

async function runStep(services: Services, claim: Claim): Promise<StepResult> {
  const { step } = payoutStates[claim.state];
  if (step === null) return { retry: "sameKey" };
  const { call, find } = steps[step];
  const keyAge = ageOfKey(new Date(claim.keyCreatedAt), services.clock.now());
  try {
    if (step !== "poll" && keyAge !== "fresh") {
      return (await find(services, claim)) ?? { retry: keyAge === "expired" ? "newKey" : "sameKey" };
    }
    return await call(services, claim).catch((error: unknown) => afterFailedCall(services, claim, steps[step], error));
  } catch (error) {
    if (error instanceof ProcessorUnavailable) {
      services.log.warn({ payoutId: claim.id, error }, "the processor does not answer; the payout waits");
      return { retry: "sameKey" };
    }
    // A refused look-up proves nothing: what it looked for may well be there.
    if (error instanceof ProcessorRefused) {
      services.log.error({ payoutId: claim.id, error }, "a payout cannot be looked up");
      return { retry: "sameKey" };
    }
    throw error;
  }
}

async function afterFailedCall(services: Services, claim: Claim, step: StepCalls, error: unknown): Promise<StepResult> {
  if (error instanceof IdempotencyKeyReused) {
    services.log.error({ payoutId: claim.id, error }, "an idempotency key was used with other parameters");
    return (await step.find(services, claim)) ?? { retry: "sameKey" };
  }
  if (error instanceof ProcessorRefused) return step.refused(services, claim, error);
  throw error;
}

interface StepCalls {
  /** Does the step, with the claim's key. */
  call(services: Services, claim: Claim): Promise<StepResult>;
  /** Looks for what the step may have done already; null when there is nothing. */
  find(services: Services, claim: Claim): Promise<StepResult | null>;
  /** What a definite refusal means. */
  refused(services: Services, claim: Claim, error: ProcessorRefused): Promise<StepResult> | StepResult;
}

const steps: Record<"transfer" | "payOut" | "poll" | "reverse", StepCalls> = {
  transfer: {
    async call({ processor }, { id, accountId, amountCents, currency, idempotencyKey }) {
      const { transferId } = await processor.createTransfer({
        ...{ accountId, amountCents, currency, idempotencyKey },
        transferGroup: id,
        payoutId: id,
      });
      return { fact: "transferMade", transferId };
    },
    async find({ processor }, claim) {
      const [transfer] = await processor.findTransfers(claim.id);
      if (transfer === undefined) return null;
      const fact = isReversed(transfer, claim) ? "transferReversed" : "transferMade";
      return { fact, transferId: transfer.transferId };
    },
    async refused(services, claim, error) {
      if (error instanceof BalanceTooLow) return { fact: "transferUnfunded", newKey: true };
      // Not every refusal knows of the key: an earlier call, whose answer was lost, may have made the transfer.
      return (
        (await steps.transfer.find(services, claim)) ?? { fact: "transferRefused", failure: failureOfRefusal(error) }
      );
    },
  },
  payOut: {
    async call({ processor }, { id, accountId, amountCents, currency, idempotencyKey }) {
      const payout = await processor.createPayout({ accountId, amountCents, currency, idempotencyKey, payoutId: id });
      return payoutResult(payout);
    },
    async find({ processor }, claim) {
      const [payout] = await processor.findPayouts(claim.accountId, claim.id);
      return payout === undefined ? null : payoutResult(payout);
    },
    async refused(services, claim, error) {
      if (error instanceof BalanceTooLow) return { fact: "payoutUnfunded", newKey: true };
      // As for a transfer; but after the first attempt there is no earlier call, and an account that is gone has no list.
      const made = claim.attempts === 1 ? null : await steps.payOut.find(services, claim);
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
    async find({ processor }, claim) {
      const [transfer] = await processor.findTransfers(claim.id);
      return transfer !== undefined && isReversed(transfer, claim) ? { fact: "transferReversed" } : null;
    },
    async refused(services, claim, error) {
      // The account may not have the money back yet. Any other refusal may mean that it was reversed by hand.
      if (error instanceof BalanceTooLow) return { retry: "newKey" };
      return (
        (await steps.reverse.find(services, claim)) ??
        logAndRetry("a transfer cannot be reversed")(services, claim, error)
      );
    },
  },
};

function logAndRetry(message: string) {
  return (services: Services, claim: Claim, error: ProcessorRefused): StepResult => {
    services.log.error({ payoutId: claim.id, error }, message);
    return { retry: "newKey" };
  };
}

function isReversed(transfer: ProcessorTransfer, { amountCents }: Claim): boolean {
  return transfer.reversedCents >= amountCents;
}

function failureOfRefusal({ code, message }: ProcessorRefused): PayoutFailure {
  return { code, processorMessage: message };
}

function payoutResult(payout: ProcessorPayout): StepResult {
  return { fact: factOfPayoutStatus(payout.status), processorPayoutId: payout.id, failure: failureOf(payout) };
}

export interface UnfinishedPayouts {
  state: string;
  count: number;
  /** Seconds since the oldest of them was requested; 0 when there is none. */
  oldestSeconds: number;
}

/** How many payouts are on their way in each state, and for how long. */
export async function countUnfinishedPayouts({ database }: Pick<Services, "database">): Promise<UnfinishedPayouts[]> {
  const rows = await database.query<UnfinishedPayouts>(sql`
    SELECT state, count(*) AS count, extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS "oldestSeconds"
    FROM payouts WHERE next_step_at IS NOT NULL AND state NOT IN ('paid', 'failed') GROUP BY state`);
  return Object.entries(payoutStates)
    .filter(([, { status }]) => status !== "paid" && status !== "failed")
    .map(([state]) => rows.find((row) => row.state === state) ?? { state, count: 0, oldestSeconds: 0 });
}

/** The payouts whose next step is due, whether or not a job for it is left. */
export function findDuePayouts({ database, clock }: Services, limit: number): Promise<{ payoutId: string }[]> {
  return database.query<{ payoutId: string }>(sql`
    SELECT id AS "payoutId" FROM payouts WHERE next_step_at <= ${clock.now().toISOString()}::timestamptz
    ORDER BY next_step_at LIMIT ${limit}`);
}
