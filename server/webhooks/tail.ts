import type { EventType } from "../schemas/event.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { StoredEvent } from "./payload.ts";

/** An event that is committed later than this after it was recorded would be missed; transactions take milliseconds. */
const OVERLAP_SECONDS = 30;

/**
 * Returns a function that returns the events of these types committed since its previous call; none on the first call.
 *
 * Transactions do not commit in the order in which they write, so reading only newer ids would miss late commits. Each
 * call therefore reads half a minute further back than the previous call, and leaves out the events that were already
 * read.
 */
export function createTail(connection: Connection, types: readonly EventType[]): () => Promise<StoredEvent[]> {
  let recentIds: Set<string> | null = null;
  let lastReadMs = Date.now();
  return async () => {
    const nowMs = Date.now();
    // Ids contain the database's time; our clock only measures the time since the previous call, including outages and
    // sleep.
    const seconds = OVERLAP_SECONDS + (nowMs - lastReadMs) / 1000;
    const recent = await connection.query<StoredEvent>(sql`
      SELECT id, type, created_at AS "createdAt", data FROM events
      WHERE type = ANY (${types as string[]}::text[]) AND task_id IS NOT NULL
        -- Ids are time-ordered, so the primary key finds the newest rows.
        AND id > (lpad(to_hex((extract(epoch FROM clock_timestamp() - make_interval(secs => ${seconds})) * 1000)::bigint), 12, '0')
                  || '-7000-8000-000000000000')::uuid
      ORDER BY id`);
    const previousIds = recentIds;
    recentIds = new Set(recent.map(({ id }) => id));
    lastReadMs = nowMs;
    return previousIds === null ? [] : recent.filter(({ id }) => !previousIds.has(id));
  };
}
