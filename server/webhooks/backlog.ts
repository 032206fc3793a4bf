import { type Connection, queryOne, sql } from "../store/connection.ts";
import { isIn } from "./deliveryStates.ts";

/**
 * Pending deliveries are counted up to this number: an exact count of a longer queue would take longer without helping.
 */
const MAX_COUNTED = 10_000;

/**
 * Measures the backlog, for operators: the number of pending deliveries (up to 10,000) and the due time of the oldest
 * due delivery, null when none is due; those held back for a host that does not answer do not count as due. An event whose
 * deliveries are not written yet has been due since it happened. Reads only the first delivery of each lane, however long the
 * lanes are.
 */
export function readBacklog(
  connection: Connection,
  now: Date,
): Promise<{ pending: number; oldestDueAt: string | null }> {
  const backlog = sql`
    WITH RECURSIVE lane AS (
      (SELECT d.endpoint_id, d.due_at FROM webhook_deliveries d
       WHERE ${isIn.lane} ORDER BY d.endpoint_id, d.due_at LIMIT 1)
      UNION ALL
      SELECT next.endpoint_id, next.due_at FROM lane CROSS JOIN LATERAL (
        SELECT d.endpoint_id, d.due_at FROM webhook_deliveries d
        WHERE ${isIn.lane} AND d.endpoint_id > lane.endpoint_id
        ORDER BY d.endpoint_id, d.due_at LIMIT 1
      ) next
    )
    SELECT
      (SELECT count(*) FROM (
        SELECT FROM webhook_deliveries d WHERE ${isIn.lane}
        UNION ALL SELECT FROM webhook_deliveries d WHERE ${isIn.waiting}
        UNION ALL SELECT FROM webhook_deliveries d WHERE ${isIn.held}
        LIMIT ${MAX_COUNTED}) AS counted) AS pending,
      -- While no worker runs, nobody writes deliveries, or moves due retries into their lanes.
      least((SELECT min(due_at) FROM lane),
            (SELECT created_at FROM events WHERE fanned_out_at IS NULL ORDER BY id LIMIT 1),
            (SELECT min(d.due_at) FROM webhook_deliveries d WHERE ${isIn.waiting} AND d.due_at <= ${now.toISOString()}::timestamptz)) AS "oldestDueAt"`;
  return queryOne<{ pending: number; oldestDueAt: string | null }>(connection, backlog, { plan: "fresh" });
}
