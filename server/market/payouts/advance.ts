import { IdempotencyKeyReused, ProcessorRefused, ProcessorUnavailable } from "../../gateways/processorErrors.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { needsReconciliation } from "../../store/reconciliation.ts";
import { syncPayoutAccount } from "./accounts.ts";
import { recordResult } from "./recordResult.ts";
import { ageOfKey, payoutStates } from "./rules.ts";
import { type StepCalls, type StepResult, steps } from "./steps.ts";
import { type LeasedPayout, takeStep } from "./takeStep.ts";

/**
 * Takes a payout one step further: transfer, payout to the bank, poll, or reversal. The lease and the call's key are
 * committed, then the call is made outside of any transaction, then its result is committed. A crash in between leaves
 * a lease that expires; the next one repeats the call with the same key and parameters, so it takes effect once.
 */
export async function advancePayout(services: Services, { payoutId }: JobPayload<"advancePayout">): Promise<void> {
  const leased = await takeStep(services, payoutId);
  if (leased === null) return;
  const result = await runStep(services, leased);
  await recordResult(services, leased, result);
  if ("fact" in result && (result.fact === "transferRefused" || result.fact === "payoutRefused")) {
    // Most refusals mean that the account can no longer be paid: update it, so that the next payout is refused at once.
    await syncPayoutAccount(services, leased.accountId).catch((error: unknown) =>
      services.log.warn({ payoutId, error }, "the account of a refused payout could not be fetched"),
    );
  }
}

async function runStep(services: Services, leased: LeasedPayout): Promise<StepResult> {
  const { step } = payoutStates[leased.state];
  if (step === null) return { retry: "sameKey" };
  const { call, find } = steps[step];
  const keyAge = ageOfKey(new Date(leased.keyCreatedAt), services.clock.real());
  try {
    if (step !== "poll" && keyAge !== "fresh") {
      return (await find(services, leased)) ?? { retry: keyAge === "expired" ? "newKey" : "sameKey" };
    }
    return await call(services, leased).catch((error: unknown) =>
      afterFailedCall(services, leased, steps[step], error),
    );
  } catch (error) {
    if (error instanceof ProcessorUnavailable) {
      services.log.warn(
        { payoutId: leased.id, error },
        "the payment processor is unreachable; the payout is retried later",
      );
      return { retry: "sameKey" };
    }
    // A refused lookup proves nothing: the transfer or payout may exist.
    if (error instanceof ProcessorRefused) {
      services.log.error({ payoutId: leased.id, error }, "the lookup of a payout was refused");
      return { retry: "sameKey" };
    }
    throw error;
  }
}

async function afterFailedCall(
  services: Services,
  leased: LeasedPayout,
  step: StepCalls,
  error: unknown,
): Promise<StepResult> {
  if (error instanceof IdempotencyKeyReused) {
    services.log.error({ payoutId: leased.id, error }, "an idempotency key was used with other parameters");
    return (await step.find(services, leased)) ?? { retry: "sameKey" };
  }
  if (error instanceof ProcessorRefused) return step.refused(services, leased, error);
  throw error;
}

/** Returns payouts whose next step is due, whether or not a job for it still exists. */
export function findDuePayouts({ database, clock }: Services, limit: number): Promise<{ payoutId: string }[]> {
  return database.query<{ payoutId: string }>(sql`
    SELECT id AS "payoutId" FROM payouts WHERE next_step_at <= ${clock.now().toISOString()}::timestamptz AND NOT ${needsReconciliation}
    ORDER BY next_step_at LIMIT ${limit}`);
}
