import { type Connection, sql } from "../store/connection.ts";
import { enter, isIn, stateColumns } from "./deliveryStates.ts";

/** Condition on `webhook_endpoints e` and `users u`. */
const canReceive = sql`u.id = e.user_id AND e.deleted_at IS NULL AND u.suspended_at IS NULL`;

/**
 * Makes a delivery due now, unless it is pending already and only held back for its host. A finished delivery gets one more attempt; one that waits for a retry is retried now. The
 * event, and with it the payload's `id`, stays the same. Returns false when the delivery does not exist, its endpoint
 * was deleted, or the endpoint's owner is suspended.
 */
export async function replayDelivery(connection: Connection, deliveryId: string, now: Date): Promise<boolean> {
  const [endpoint] = await connection.query<{ id: string }>(sql`
    SELECT e.id FROM webhook_deliveries d, webhook_endpoints e, users u
    WHERE d.id = ${deliveryId}::uuid AND e.id = d.endpoint_id AND ${canReceive}`);
  if (!endpoint) return false;
  await switchOn(connection, [endpoint.id]);
  await connection.query(sql`
    UPDATE webhook_deliveries d
    SET ${enter({ ...stateColumns.queued, leased_until: sql`d.leased_until` })}, due_at = ${now.toISOString()}::timestamptz,
        attempts_left = CASE WHEN d.status = 'pending' THEN d.attempts_left ELSE 1 END
    WHERE d.id = ${deliveryId}::uuid AND NOT (${isIn.held})`);
  return true;
}

/** Replays all deliveries that have failed since `since`, of one endpoint or of all. Returns how many there were. */
export async function replayFailed(
  connection: Connection,
  options: { since: string; endpointId?: string | undefined; now: Date },
): Promise<number> {
  const { since, endpointId } = options;
  // A named endpoint is switched on even if none of its deliveries has failed since then.
  const selected = endpointId
    ? sql`e.id = ${endpointId}::uuid`
    : sql`EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.failed_at >= ${since}::timestamptz)`;
  const endpoints = await connection.query<{ id: string }>(sql`
    SELECT e.id FROM webhook_endpoints e, users u WHERE ${canReceive} AND ${selected}`);
  const endpointIds = endpoints.map(({ id }) => id);
  await switchOn(connection, endpointIds);
  const replayed = await connection.query(sql`
    UPDATE webhook_deliveries
    SET ${enter(stateColumns.queued)}, attempts_left = 1, due_at = ${options.now.toISOString()}::timestamptz
    WHERE endpoint_id = ANY (${endpointIds}::uuid[]) AND failed_at >= ${since}::timestamptz
    RETURNING 1`);
  return replayed.length;
}

/** Switches endpoints on again, because a user who asks for a test or a replay expects them to work. */
export async function switchOn(connection: Connection, endpointIds: string[]): Promise<void> {
  await connection.query(sql`
    UPDATE webhook_endpoints SET switched_off_at = NULL, failures_in_row = 0, failing_since = NULL
    WHERE id IN (
      SELECT id FROM webhook_endpoints WHERE id = ANY (${endpointIds}::uuid[]) AND switched_off_at IS NOT NULL
      ORDER BY id FOR NO KEY UPDATE)`);
}
