import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";

const MAX_EVENTS = 200;
/** Intended number of deliveries per transaction, about 100 ms of work. Meanwhile other workers take other events. */
const TARGET_DELIVERIES = 4_000;

interface FanOutServices extends Pick<Services, "database" | "clock"> {
  readonly settings: Pick<Services["settings"], "webhookRetrySeconds">;
}

/** The first attempt and the retries. */
const attemptsOf = (settings: FanOutServices["settings"]) => settings.webhookRetrySeconds.length + 1;

interface FannedOut {
  events: number;
  deliveries: number;
}

/**
 * Writes the deliveries of events that have none yet, and marks these events, in one statement: a crash leaves an event
 * with all of its deliveries or with none. Workers skip each other's events.
 *
 * An event goes to endpoints that were registered before it happened, have its type in `events` or `log_events`, are switched on, and
 * belong to one of its recipients, or to anyone if its recipients are null.
 */
export async function fanOut({ database, settings, clock }: FanOutServices, maxEvents: number): Promise<FannedOut> {
  // This runs many times a second and nearly always finds nothing, so a very cheap query comes first.
  const [pending] = await database.query(sql`SELECT 1 FROM events WHERE fanned_out_at IS NULL LIMIT 1`);
  if (!pending) return { events: 0, deliveries: 0 };
  const statement = sql`
      WITH batch AS MATERIALIZED (
        SELECT id, type, recipients, created_at FROM events
        WHERE fanned_out_at IS NULL ORDER BY id LIMIT ${maxEvents} FOR UPDATE SKIP LOCKED
      ), marked AS (
        UPDATE events SET fanned_out_at = service_now() FROM batch WHERE events.id = batch.id
      ), targets AS (
        SELECT e.id AS endpoint_id, batch.id AS event_id, batch.type
        FROM batch JOIN webhook_endpoints e ON e.events @> ARRAY[batch.type] AND e.created_at <= batch.created_at
             JOIN users u ON u.id = e.user_id AND u.suspended_at IS NULL
        WHERE batch.recipients IS NULL AND e.deleted_at IS NULL AND e.switched_off_at IS NULL
        UNION ALL
        SELECT e.id, batch.id, batch.type
        FROM batch CROSS JOIN LATERAL (SELECT DISTINCT unnest(batch.recipients)) AS recipient (user_id)
             -- Not as above: its index finds all subscribers of a type, and here only those of the recipients are wanted.
             JOIN webhook_endpoints e ON e.user_id = recipient.user_id AND batch.type = ANY (e.events || e.log_events)
                  AND e.created_at <= batch.created_at
             JOIN users u ON u.id = e.user_id AND u.suspended_at IS NULL
        WHERE e.deleted_at IS NULL AND e.switched_off_at IS NULL
      ), written AS (
        INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, attempts_left, due_at, created_at)
        SELECT endpoint_id, event_id, type, ${attemptsOf(settings)}, ${clock.now().toISOString()}::timestamptz,
               -- Two rows of a feed must not share a microsecond, so the time is read once.
               (SELECT service_now()) + row_number() OVER () * interval '1 microsecond'
        FROM targets
        RETURNING 1
      )
      SELECT (SELECT count(*) FROM batch) AS events, (SELECT count(*) FROM written) AS deliveries`;
  // The best plan depends on whether 10 or 10,000 endpoints subscribe.
  const [result] = await database.transaction((tx) => tx.query<FannedOut>(statement, { plan: "fresh" }));
  return result ?? { events: 0, deliveries: 0 };
}

/**
 * Returns the number of events for the next batch, so that it writes about 4,000 deliveries: at least 1, at most 200.
 */
export function nextBatchSize({ events, deliveries }: FannedOut): number {
  const deliveriesPerEvent = events === 0 ? TARGET_DELIVERIES : deliveries / events;
  return Math.max(1, Math.min(MAX_EVENTS, Math.floor(TARGET_DELIVERIES / Math.max(1, deliveriesPerEvent))));
}
