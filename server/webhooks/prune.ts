import { firstIdKept } from "../events/prune.ts";
import type { Services } from "../services.ts";
import { NIL_UUID, type Sql, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { daysAgo, ENDED_KEPT_DAYS } from "../store/retention.ts";

const BATCH = 5_000;

/**
 * Deletes deliveries that are older than 30 days: those that succeeded, and those of deleted endpoints. A failed one can be
 * replayed, so it is kept for 90 days after its last attempt; a pending one is still to be sent. Works in batches, so that
 * nothing is locked for long. Ids are time-ordered, so the primary key finds the old rows.
 */
export async function pruneWebhookDeliveries({ database, clock }: Services): Promise<void> {
  const firstId = firstIdKept(clock);
  let after: string | undefined = NIL_UUID;
  while (after !== undefined) {
    const batch: { id: string }[] = await database.query<{ id: string }>(sql`
      WITH batch AS MATERIALIZED (
        SELECT d.id, d.status, e.deleted_at IS NOT NULL OR d.failed_at < ${daysAgo(clock, ENDED_KEPT_DAYS)} AS is_over
        FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
        WHERE d.id > ${after}::uuid AND d.id < ${firstId}::uuid ORDER BY d.id LIMIT ${BATCH}
      ), old AS (
        DELETE FROM webhook_deliveries d USING batch b
        WHERE d.id = b.id AND d.status = b.status
          AND (b.status = 'succeeded' OR (b.status = 'failed' AND b.is_over))
      )
      SELECT id FROM batch ORDER BY id`);
    after = batch.at(-1)?.id;
  }
}

const ENDPOINTS_KEPT_DAYS = 30;
const ENDPOINTS_BATCH = 500;

/**
 * Deletes endpoints that were deleted 30 days ago and whose deliveries are gone, and receiving hosts that no endpoint has any
 * more. Such a host has to prove itself again when a user registers it.
 */
export async function pruneWebhookEndpoints({ database, clock }: Services): Promise<void> {
  const before = daysAgo(clock, ENDPOINTS_KEPT_DAYS);
  while ((await database.transaction((tx) => pruneEndpointBatch(tx, before))) === ENDPOINTS_BATCH) {}
}

/** Endpoints first, hosts last, as everywhere. Returns how many endpoints were deleted. */
async function pruneEndpointBatch(tx: Transaction, before: Sql): Promise<number> {
  const deleted = await tx.query<{ host: string }>(
    sql`
    DELETE FROM webhook_endpoints WHERE id IN (
      SELECT id FROM webhook_endpoints e
      WHERE deleted_at < ${before} AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id)
      ORDER BY deleted_at LIMIT ${ENDPOINTS_BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING host`,
    { plan: "fresh" },
  );
  if (deleted.length === 0) return 0;
  const hosts = [...new Set(deleted.map(({ host }) => host))];
  // Registering an endpoint locks its host. The statement after the lock sees what was registered before it.
  await tx.query(sql`SELECT FROM webhook_hosts WHERE host = ANY (${hosts}::text[]) ORDER BY host FOR UPDATE`);
  await tx.query(sql`
    DELETE FROM webhook_hosts h
    WHERE host = ANY (${hosts}::text[]) AND NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.host = h.host)`);
  return deleted.length;
}
