import { type Connection, queryOne, sql } from "../store/connection.ts";

/**
 * Returns how many events are still to be handed to their subscribers and readers, how many deliveries are due or under way,
 * and when the next retry is due. Reads every pending delivery: for the test clock, not for a service with many.
 */
export async function readDueDeliveries(
  connection: Connection,
  now: Date,
): Promise<{ events: number; deliveries: number; nextRetryAt: Date | null }> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const { nextRetryAt, ...due } = await queryOne<{ events: number; deliveries: number; nextRetryAt: string | null }>(
    connection,
    sql`
    SELECT (SELECT count(*) FROM events WHERE fanned_out_at IS NULL) + (SELECT count(*) FROM event_log_queue) AS events,
           count(*) FILTER (WHERE due_at <= ${at}) AS deliveries,
           min(due_at) FILTER (WHERE due_at > ${at}) AS "nextRetryAt"
    FROM webhook_deliveries WHERE status = 'pending'`,
  );
  return { ...due, nextRetryAt: nextRetryAt === null ? null : new Date(nextRetryAt) };
}

/** Returns how many requests to endpoints were begun since then. */
export async function countAttemptsSince(connection: Connection, since: Date): Promise<number> {
  const { count } = await queryOne<{ count: number }>(
    connection,
    sql`
    SELECT count(*) FROM webhook_deliveries d CROSS JOIN jsonb_array_elements(d.attempts) AS attempt
    WHERE (attempt ->> 'attemptedAt')::timestamptz >= ${since.toISOString()}::timestamptz`,
  );
  return count;
}
