import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { takeLease, timeOf } from "../../store/lease.ts";
import { needsReconciliation } from "../../store/reconciliation.ts";
import { type PayoutRecord, payoutColumns } from "./records.ts";

/** A payout whose next step this process has taken. The idempotency key is stored before the call is made. */
export interface LeasedPayout extends PayoutRecord {
  idempotencyKey: string;
  keyCreatedAt: string;
}

/** Longer than the calls of a step can take. */
const STEP_LEASE_SECONDS = 30;

/** Takes a lease on the payout's next step. Returns null when none is due, another process has it, or payouts are paused. */
export function takeStep({ database, clock }: Services, payoutId: string): Promise<LeasedPayout | null> {
  const lease = {
    ...{ table: sql`payouts`, column: sql`next_step_at`, seconds: STEP_LEASE_SECONDS },
    now: timeOf(clock.now()),
  };
  return takeLease<LeasedPayout>(database, lease, {
    row: sql`id = ${payoutId}::uuid AND next_step_at IS NOT NULL AND NOT ${needsReconciliation}`,
    set: sql`
      attempts = attempts + 1, idempotency_key = coalesce(idempotency_key, ${`payout-${crypto.randomUUID()}`}),
      key_created_at = coalesce(key_created_at, ${timeOf(clock.real())})`,
    returning: payoutColumns,
  });
}
