import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { lockPayout, type PayoutRecord } from "./records.ts";
import { STEP_LEASE_SECONDS } from "./rules.ts";

/** A payout whose next step this process has taken. The idempotency key is stored before the call is made. */
export interface Claim extends PayoutRecord {
  idempotencyKey: string;
  keyCreatedAt: string;
}

/** Leases the payout's next step for 30 seconds. Returns null when none is due or another process has it. */
export async function claimStep({ database, clock }: Services, payoutId: string): Promise<Claim | null> {
  const now = clock.now();
  return database.transaction(async (tx) => {
    const payout = await lockPayout(tx, sql`id = ${payoutId}::uuid`);
    if (payout === null || payout.nextStepAt === null || new Date(payout.nextStepAt) > now) return null;
    const idempotencyKey = payout.idempotencyKey ?? `payout-${crypto.randomUUID()}`;
    const keyCreatedAt = payout.keyCreatedAt ?? clock.real().toISOString();
    const attempts = payout.attempts + 1;
    const leasedUntil = new Date(now.getTime() + STEP_LEASE_SECONDS * 1000).toISOString();
    await tx.query(sql`
      UPDATE payouts SET idempotency_key = ${idempotencyKey}, key_created_at = ${keyCreatedAt}::timestamptz,
        attempts = ${attempts}, next_step_at = ${leasedUntil}::timestamptz
      WHERE id = ${payout.id}::uuid`);
    return { ...payout, idempotencyKey, keyCreatedAt, attempts };
  });
}
