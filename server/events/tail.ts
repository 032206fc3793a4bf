import { type Connection, sql } from "../db/connection.ts";
import type { EventType } from "./catalogue.ts";
import type { StoredEvent } from "./payload.ts";

/** A transaction that took longer than this between its event and its commit would be missed by who only listens. */
const OVERLAP_SECONDS = 30;

/**
 * Gives, at each call, the events of these types that were committed since the call before; the first call gives none.
 *
 * Transactions commit in another order than they write: looking only for newer ids would miss one that came late. So
 * each call looks back half a minute and leaves out what it has given already.
 */
export function createTail(connection: Connection, types: readonly EventType[]): () => Promise<StoredEvent[]> {
  let known: Set<string> | null = null;
  return async () => {
    const recent = await connection.query<StoredEvent>(sql`
      SELECT id, type, created_at AS "createdAt", data FROM events
      WHERE type = ANY (${types as string[]}::text[]) AND task_id IS NOT NULL
        -- Ids are time-ordered, so the primary key finds the newest.
        AND id > (lpad(to_hex((extract(epoch FROM clock_timestamp() - make_interval(secs => ${OVERLAP_SECONDS})) * 1000)::bigint), 12, '0')
                  || '-7000-8000-000000000000')::uuid
      ORDER BY id`);
    const given = known;
    known = new Set(recent.map(({ id }) => id));
    return given === null ? [] : recent.filter(({ id }) => !given.has(id));
  };
}
