import { type Connection, sql } from "../store/connection.ts";
import { eventBody, type StoredEvent } from "./payload.ts";

const MAX_BYTES = 8 * 1024 * 1024;
/** Rough overhead of an entry beside its body. */
const ENTRY_BYTES = 1_000;

/** A cache of event bodies: an event with 5,000 endpoints needs its body 5,000 times. It holds at most 8 MiB. */
export function createBodies(connection: Connection) {
  const bodies = new Map<string, Buffer>();
  let bytes = 0;
  return {
    /** Returns the bodies of these events by event id; an unknown event has none. */
    async load(eventIds: Iterable<string>): Promise<Map<string, Buffer>> {
      const wanted = [...new Set(eventIds)];
      const missing = wanted.filter((id) => !bodies.has(id));
      const loaded = missing.length === 0 ? [] : await readEvents(connection, missing);
      for (const event of loaded) {
        const body = eventBody(event);
        bodies.set(event.id, body);
        bytes += body.length + ENTRY_BYTES;
      }
      const found = new Map(wanted.flatMap((id) => (bodies.has(id) ? [[id, bodies.get(id) ?? Buffer.alloc(0)]] : [])));
      for (const [id, body] of bodies) {
        if (bytes <= MAX_BYTES) break;
        bodies.delete(id);
        bytes -= body.length + ENTRY_BYTES;
      }
      return found;
    },
  };
}

function readEvents(connection: Connection, eventIds: string[]): Promise<StoredEvent[]> {
  return connection.query<StoredEvent>(sql`
    SELECT id, type, created_at AS "createdAt", data FROM events WHERE id = ANY (${eventIds}::uuid[])`);
}
