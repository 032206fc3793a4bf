import { firstIdKept } from "../events/prune.ts";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";

const BATCH = 5_000;

/**
 * Deletes deliveries that are older than 30 days: those that succeeded, and those of deleted endpoints. A failed one can be
 * replayed, so it is kept until it has been, or its endpoint is deleted; a pending one is still to be sent. Works in
 * batches, so that nothing is locked for long. Ids are time-ordered, so the primary key finds the old rows.
 */
export async function pruneWebhookDeliveries({ database, clock }: Services): Promise<void> {
  const firstId = firstIdKept(clock);
  let after: string | undefined = "00000000-0000-0000-0000-000000000000";
  while (after !== undefined) {
    const batch: { id: string }[] = await database.query<{ id: string }>(sql`
      WITH batch AS MATERIALIZED (
        SELECT d.id, d.status, e.deleted_at FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
        WHERE d.id > ${after}::uuid AND d.id < ${firstId}::uuid ORDER BY d.id LIMIT ${BATCH}
      ), old AS (
        DELETE FROM webhook_deliveries d USING batch b
        WHERE d.id = b.id AND d.status = b.status
          AND (b.status = 'succeeded' OR (b.status = 'failed' AND b.deleted_at IS NOT NULL))
      )
      SELECT id FROM batch ORDER BY id`);
    after = batch.at(-1)?.id;
  }
}
