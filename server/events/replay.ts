import { type Connection, empty, sql } from "../db/connection.ts";

/** Of `webhook_deliveries d`, `webhook_endpoints e` and `users u`. */
const mayGetReplays = sql`
  e.id = d.endpoint_id AND e.deleted_at IS NULL AND u.id = e.user_id AND u.suspended_at IS NULL`;

/**
 * Makes a delivery due now. One that has ended gets one attempt more; one that still waits for a retry has that retry
 * now. The event, and with it the payload's `id`, stays the same. False when there is no such delivery, its endpoint was
 * deleted, or the endpoint's owner is suspended.
 */
export async function replayDelivery(connection: Connection, deliveryId: string, now: Date): Promise<boolean> {
  const [replayed] = await connection.query<{ endpointId: string }>(sql`
    UPDATE webhook_deliveries d
    SET status = 'pending', waiting = false, due_at = ${now.toISOString()}::timestamptz,
        attempts_left = CASE WHEN d.status = 'pending' THEN d.attempts_left ELSE 1 END
    FROM webhook_endpoints e, users u
    WHERE d.id = ${deliveryId}::uuid AND ${mayGetReplays}
    RETURNING d.endpoint_id AS "endpointId"`);
  if (!replayed) return false;
  await switchOn(connection, [replayed.endpointId]);
  return true;
}

/** Replays all failed deliveries since a moment, of one endpoint or of all that may get them, and gives their number. */
export async function replayFailed(
  connection: Connection,
  options: { since: string; endpointId?: string | undefined; now: Date },
): Promise<number> {
  const replayed = await connection.query<{ endpointId: string; count: number }>(sql`
    WITH replayed AS (
      UPDATE webhook_deliveries d
      SET status = 'pending', waiting = false, attempts_left = 1, due_at = ${options.now.toISOString()}::timestamptz
      FROM webhook_endpoints e, users u
      WHERE d.status = 'failed' AND d.created_at >= ${options.since}::timestamptz AND ${mayGetReplays}
        ${options.endpointId === undefined ? empty : sql`AND d.endpoint_id = ${options.endpointId}::uuid`}
      RETURNING d.endpoint_id)
    SELECT endpoint_id AS "endpointId", count(*) AS count FROM replayed GROUP BY endpoint_id`);
  // The endpoint that was asked for, even if nothing of it has failed since then.
  const endpointIds =
    options.endpointId === undefined ? replayed.map(({ endpointId }) => endpointId) : [options.endpointId];
  await switchOn(connection, endpointIds);
  return replayed.reduce((sum, { count }) => sum + count, 0);
}

/** Whoever asks for a test or a replay says that the endpoint is there again. */
export async function switchOn(connection: Connection, endpointIds: string[]): Promise<void> {
  await connection.query(sql`
    UPDATE webhook_endpoints SET switched_off_at = NULL, failures_in_row = 0, failing_since = NULL
    WHERE id = ANY (${endpointIds}::uuid[]) AND switched_off_at IS NOT NULL`);
}
