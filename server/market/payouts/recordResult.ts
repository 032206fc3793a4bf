import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { lockPayout, recordPayoutFact } from "./records.ts";
import { type PayoutFact, payoutStates, pollDelaySeconds, retryDelaySeconds } from "./rules.ts";
import type { StepResult } from "./steps.ts";
import type { LeasedPayout } from "./takeStep.ts";

/** Facts that come from a refused call. */
const refusals: readonly PayoutFact[] = ["transferUnfunded", "transferRefused", "payoutUnfunded", "payoutRefused"];

/** Records a step's result, and schedules the next attempt unless the payout has moved on. */
export async function recordResult(services: Services, leased: LeasedPayout, result: StepResult): Promise<void> {
  const { database, clock, settings } = services;
  const now = clock.now();
  const pollSeconds = settings.processorPollSeconds;
  await database.transaction(async (tx) => {
    const payout = await lockPayout(tx, sql`id = ${leased.id}::uuid`);
    if (payout === null) return;
    if ("fact" in result) {
      const { fact, newKey: _, ...details } = result;
      // A refusal is about its own key only: a call with another key may be under way and succeed.
      if (refusals.includes(fact) && payout.idempotencyKey !== leased.idempotencyKey) return;
      const state = await recordPayoutFact(tx, payout, fact, details, services);
      if (state !== payout.state) return;
    }
    // During the call an event may have moved the payout on, or another process may have taken over an expired lease.
    if (payout.state !== leased.state || payout.attempts !== leased.attempts) return;
    const isPoll = payoutStates[payout.state].step === "poll";
    const delaySeconds = isPoll
      ? pollDelaySeconds(payout.state, secondsBetween(payout.paidAt, now), pollSeconds)
      : retryDelaySeconds(leased.attempts, pollSeconds) * jitter();
    const nextStepAt = delaySeconds === null ? null : after(now, delaySeconds);
    const forgetKey = isPoll || ("fact" in result ? result.newKey === true : result.retry === "newKey");
    await tx.query(sql`
      UPDATE payouts SET next_step_at = ${nextStepAt}::timestamptz,
        idempotency_key = CASE WHEN ${forgetKey} THEN NULL ELSE idempotency_key END,
        key_created_at = CASE WHEN ${forgetKey} THEN NULL ELSE key_created_at END
      WHERE id = ${leased.id}::uuid`);
    if (nextStepAt !== null && !isPoll) {
      tx.jobs.add("advancePayout", { payoutId: leased.id }, { runAt: new Date(nextStepAt) });
    }
  });
}

/** Spreads the retries of payouts that failed together. */
const jitter = () => 0.9 + Math.random() * 0.2;
const after = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
const secondsBetween = (earlier: string | null, now: Date) =>
  earlier === null ? 0 : (now.getTime() - new Date(earlier).getTime()) / 1000;
