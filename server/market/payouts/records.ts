import type { Services } from "../../services.ts";
import { type Connection, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { PayoutFailure } from "./failures.ts";
import { recordPayoutUpdated } from "./publicRecord.ts";
import { firstStepDelaySeconds, nextPayoutState, type PayoutFact, type PayoutState, payoutStates } from "./rules.ts";

/** A payout's row, for jobs and events. */
export interface PayoutRecord {
  id: string;
  userId: string;
  accountId: string;
  amountCents: number;
  currency: string;
  state: PayoutState;
  transferId: string | null;
  processorPayoutId: string | null;
  idempotencyKey: string | null;
  keyCreatedAt: string | null;
  attempts: number;
  nextStepAt: string | null;
  paidAt: string | null;
}

/** Columns of `payouts`. */
export const payoutColumns = sql`
  id, user_id AS "userId", account_id AS "accountId", amount_cents AS "amountCents", currency, state,
  transfer_id AS "transferId", processor_payout_id AS "processorPayoutId", idempotency_key AS "idempotencyKey",
  key_created_at AS "keyCreatedAt", attempts, next_step_at AS "nextStepAt", paid_at AS "paidAt"`;

/**
 * Locks the payout that `condition` selects until the transaction ends; null if there is none. Lock wallets after it.
 */
export async function lockPayout(connection: Connection, condition: Sql): Promise<PayoutRecord | null> {
  const [payout] = await connection.query<PayoutRecord>(sql`
    SELECT ${payoutColumns} FROM payouts WHERE ${condition} FOR NO KEY UPDATE`);
  return payout ?? null;
}

/** What comes with a fact: the processor's ids, and why the payout failed. */
export interface FactDetails {
  transferId?: string;
  processorPayoutId?: string;
  failure?: PayoutFailure | null;
}

/**
 * Records a fact about a locked payout, and moves the payout if the state machine says so. A new state clears the
 * idempotency key, resets the attempts and schedules the next step. Entering `failed` credits the wallet, once, because
 * the ledger's reference is unique. Returns the resulting state.
 */
export async function recordPayoutFact(
  tx: Transaction,
  payout: PayoutRecord,
  fact: PayoutFact,
  details: FactDetails,
  { clock, settings, log }: Pick<Services, "clock" | "settings" | "log">,
): Promise<PayoutState> {
  const now = clock.now();
  const state = nextPayoutState(payout.state, fact);
  const moved = state !== payout.state;
  await tx.query(sql`
    UPDATE payouts SET
      transfer_id = coalesce(transfer_id, ${details.transferId ?? null}),
      processor_payout_id = coalesce(processor_payout_id, ${details.processorPayoutId ?? null}),
      failure_code = coalesce(${details.failure?.code ?? null}, failure_code)
    WHERE id = ${payout.id}::uuid`);
  if (!moved) return state;
  // The processor's message is for operators only, who find it in this log.
  if (details.failure) log.warn({ payoutId: payout.id, fact, ...details.failure }, "a payout failed");

  const delaySeconds = firstStepDelaySeconds(state, settings.processorPollSeconds);
  const nextStepAt = delaySeconds === null ? null : new Date(now.getTime() + delaySeconds * 1000);
  await tx.query(sql`
    UPDATE payouts SET state = ${state}, idempotency_key = NULL, key_created_at = NULL, attempts = 0,
      next_step_at = ${nextStepAt?.toISOString() ?? null}::timestamptz, updated_at = service_now(),
      paid_at = CASE WHEN ${state} = 'paid' THEN ${now.toISOString()}::timestamptz ELSE paid_at END
    WHERE id = ${payout.id}::uuid`);
  if (nextStepAt !== null && payoutStates[state].step !== "poll") {
    tx.jobs.add("advancePayout", { payoutId: payout.id }, { runAt: nextStepAt });
  }
  if (state === "failed") {
    await tx.ledger.deposit(payout.userId, "payout_reversal", payout.amountCents, `payout:${payout.id}:reversal`);
  }
  if (payoutStates[state].status !== payoutStates[payout.state].status) {
    await recordPayoutUpdated(tx, payout.id, payout.userId);
  }
  return state;
}
