import type { Clock } from "../gateways/clock.ts";
import { type Connection, NIL_UUID, sql } from "../store/connection.ts";
import { deleteInBatches } from "../store/retention.ts";

const KEPT_DAYS = 30;
const BATCH = 2_000;

/** Returns the smallest id of an event that happened in the last 30 days: ids are time-ordered. */
export function firstIdKept(clock: Clock): string {
  const beforeMs = clock.now().getTime() - KEPT_DAYS * 86_400_000;
  return `${beforeMs.toString(16).padStart(12, "0")}-7000-8000-000000000000`;
}

/**
 * Deletes what the log has from before the last 30 days, and what people were told of it, then the events that nothing refers to any more: an event stays
 * while it is in the log, and while one of its deliveries is kept. Works in batches, so that nothing is locked for long.
 */
export async function pruneEvents({ database, clock }: { database: Connection; clock: Clock }): Promise<void> {
  const firstId = firstIdKept(clock);
  while ((await pruneLog(database, firstId)) === BATCH) {}
  await deleteInBatches(
    database,
    (limit) => sql`
    DELETE FROM notifications WHERE id IN (
      SELECT id FROM notifications WHERE event_id < ${firstId}::uuid ORDER BY event_id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
  await deleteInBatches(
    database,
    (limit) => sql`
    DELETE FROM notification_mails WHERE id IN (
      SELECT id FROM notification_mails WHERE id < ${firstId}::uuid
      ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
  let after = NIL_UUID;
  for (;;) {
    const last = await pruneUnused(database, after, firstId);
    if (last === null) return;
    after = last;
  }
}

/** Keeps the last one of the old events: cursors refer to it until the next one. Returns how many were deleted. */
async function pruneLog(database: Connection, firstId: string): Promise<number> {
  const deleted = await database.query(sql`
    WITH oldest AS MATERIALIZED (
      SELECT position, event_id, lead(event_id) OVER (ORDER BY position) AS next_id
      FROM (
        SELECT position, event_id FROM event_log
        -- Reads no further if the second one is not old, and so none can be deleted.
        WHERE (SELECT event_id FROM event_log ORDER BY position OFFSET 1 LIMIT 1) < ${firstId}::uuid
        ORDER BY position LIMIT ${BATCH + 1}
      ) AS first
    ), old AS (
      DELETE FROM event_log WHERE position IN (
        SELECT position FROM oldest WHERE event_id < ${firstId}::uuid AND next_id < ${firstId}::uuid)
      RETURNING position, recipients
    ), entries AS (
      DELETE FROM event_log_entries e USING old, unnest(old.recipients) AS recipient
      WHERE e.user_id = recipient AND e.position = old.position
    )
    SELECT FROM old`);
  return deleted.length;
}

/** Looks at one batch of old events, and returns the last one; null if there are no more. */
async function pruneUnused(database: Connection, after: string, firstId: string): Promise<string | null> {
  const looked = await database.query<{ id: string }>(sql`
    WITH batch AS MATERIALIZED (
      SELECT id FROM events WHERE id > ${after}::uuid AND id < ${firstId}::uuid ORDER BY id LIMIT ${BATCH}
    ), unused AS (
      DELETE FROM events e USING batch b
      WHERE e.id = b.id AND e.fanned_out_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = e.id)
        AND NOT EXISTS (SELECT FROM event_log l WHERE l.event_id = e.id)
        AND NOT EXISTS (SELECT FROM event_log_queue q WHERE q.event_id = e.id)
    )
    SELECT id FROM batch ORDER BY id`);
  return looked.at(-1)?.id ?? null;
}
