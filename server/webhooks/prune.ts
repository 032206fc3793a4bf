import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";

const KEPT_DAYS = 30;
const BATCH = 5_000;

/**
 * Deletes deliveries that are older than 30 days; the events stay. Works in batches, so that nothing is locked for
 * long. Ids are time-ordered, so the primary key finds the old rows. Pending deliveries (an old one replayed today) are
 * kept.
 */
export async function pruneWebhookDeliveries({ database, clock }: Services): Promise<void> {
  const before = clock.now().getTime() - KEPT_DAYS * 86_400_000;
  const firstIdKept = `${before.toString(16).padStart(12, "0")}-7000-8000-000000000000`;
  for (let deleted = BATCH; deleted === BATCH; ) {
    const rows = await database.query(sql`
      DELETE FROM webhook_deliveries WHERE id IN (
        SELECT id FROM webhook_deliveries WHERE id < ${firstIdKept}::uuid AND status <> 'pending' ORDER BY id LIMIT ${BATCH})
      RETURNING 1`);
    deleted = rows.length;
  }
}
