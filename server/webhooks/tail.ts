import type { EventType } from "../schemas/event.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { StoredEvent } from "./payload.ts";

/** Transactions take milliseconds. One that took longer than this between its event and its commit would be missed. */
const OVERLAP_SECONDS = 30;

/**
 * Gives, at each call, the events of these types that were committed since the call before; the first call gives none.
 *
 * Transactions commit in another order than they write: looking only for newer ids would miss one that came late. So
 * each call looks back half a minute beyond the call before, and leaves out what it has given already.
 */
export function createTail(connection: Connection, types: readonly EventType[]): () => Promise<StoredEvent[]> {
  let known: Set<string> | null = null;
  let lookedAtMs = Date.now();
  return async () => {
    const nowMs = Date.now();
    // The database's own clock made the ids; ours only says how long ago the call before was, an outage or a sleep included.
    const seconds = OVERLAP_SECONDS + (nowMs - lookedAtMs) / 1000;
    const recent = await connection.query<StoredEvent>(sql`
      SELECT id, type, created_at AS "createdAt", data FROM events
      WHERE type = ANY (${types as string[]}::text[]) AND task_id IS NOT NULL
        -- Ids are time-ordered, so the primary key finds the newest.
        AND id > (lpad(to_hex((extract(epoch FROM clock_timestamp() - make_interval(secs => ${seconds})) * 1000)::bigint), 12, '0')
                  || '-7000-8000-000000000000')::uuid
      ORDER BY id`);
    const given = known;
    known = new Set(recent.map(({ id }) => id));
    lookedAtMs = nowMs;
    return given === null ? [] : recent.filter(({ id }) => !given.has(id));
  };
}
