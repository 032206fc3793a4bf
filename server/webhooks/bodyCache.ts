import { type Connection, sql } from "../store/connection.ts";
import { eventBody, type StoredEvent } from "./payload.ts";

const MAX_BYTES = 8 * 1024 * 1024;
/** Approximate size of a cache entry without its body. */
const ENTRY_OVERHEAD_BYTES = 1_000;

/** What the deliveries of one event have in common. */
export interface EventBody {
  body: Buffer;
  /** The span in which the event was recorded. */
  traceParent: string | null;
}

/**
 * A cache of event bodies, because an event with 5,000 endpoints needs its body 5,000 times. It keeps at most 8 MiB.
 */
export function createBodyCache(connection: Connection) {
  const bodies = new Map<string, EventBody>();
  let bytes = 0;
  return {
    /** Returns the bodies of these events by event id, without those of unknown events. */
    async load(eventIds: Iterable<string>): Promise<Map<string, EventBody>> {
      const wanted = [...new Set(eventIds)];
      const missing = wanted.filter((id) => !bodies.has(id));
      const loaded = missing.length === 0 ? [] : await readEvents(connection, missing);
      for (const event of loaded) {
        const body = eventBody(event);
        bodies.set(event.id, { body, traceParent: event.traceParent });
        bytes += body.length + ENTRY_OVERHEAD_BYTES;
      }
      const found = new Map<string, EventBody>();
      for (const id of wanted) {
        const body = bodies.get(id);
        if (body !== undefined) found.set(id, body);
      }
      for (const [id, { body }] of bodies) {
        if (bytes <= MAX_BYTES) break;
        bodies.delete(id);
        bytes -= body.length + ENTRY_OVERHEAD_BYTES;
      }
      return found;
    },
  };
}

type Row = StoredEvent & Pick<EventBody, "traceParent">;

function readEvents(connection: Connection, eventIds: string[]): Promise<Row[]> {
  return connection.query<Row>(sql`
    SELECT id, type, created_at AS "createdAt", data, trace_parent AS "traceParent" FROM events WHERE id = ANY (${eventIds}::uuid[])`);
}
