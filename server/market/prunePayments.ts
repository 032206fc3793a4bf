import type { Services } from "../services.ts";
import { type Connection, type Sql, sql } from "../store/connection.ts";
import { daysAgo, deleteInBatches, ENDED_KEPT_DAYS } from "../store/retention.ts";

/** Deletes what payments leave behind, and what the ledger does not need. */
export async function prunePayments({ database, clock }: Pick<Services, "database" | "clock">): Promise<void> {
  const before = daysAgo(clock, ENDED_KEPT_DAYS);
  await pruneProcessorEvents(database, before);
  await pruneUnpaidTopups(database, before);
}

/**
 * Deletes applied events, after longer than the processor lists and repeats them, which is 30 days. Should one come again all
 * the same, it is applied again, and moves no money: the ledger's references, which are kept for good, name payments, refunds
 * and disputes, never events. An event that could not be applied yet stays.
 */
function pruneProcessorEvents(connection: Connection, before: Sql): Promise<void> {
  return deleteInBatches(
    connection,
    (limit) => sql`
    DELETE FROM processor_events WHERE id IN (
      SELECT id FROM processor_events WHERE processed_at < ${before}
      ORDER BY processed_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
}

/**
 * Deletes top-ups that failed or expired. By then the processor takes no payment for them any more. A paid top-up is kept for
 * good: the audit compares it with the ledger and with the processor.
 */
function pruneUnpaidTopups(connection: Connection, before: Sql): Promise<void> {
  return deleteInBatches(
    connection,
    (limit) => sql`
    DELETE FROM topups WHERE id IN (
      SELECT id FROM topups WHERE status IN ('failed', 'expired') AND updated_at < ${before}
      ORDER BY updated_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
}
