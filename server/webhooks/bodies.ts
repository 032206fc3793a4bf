import type { Database } from "../store/database.ts";
import { eventBody } from "./payload.ts";
import { readEvents } from "./queue.ts";

const MAX_BYTES = 8 * 1024 * 1024;
/** What an entry takes beside the body itself, roughly. */
const ENTRY_BYTES = 1_000;

/** The bodies of recent events: 5,000 endpoints of one event need it 5,000 times, and memory must stay flat. */
export function createBodies(database: Database) {
  const bodies = new Map<string, Buffer>();
  let bytes = 0;
  return {
    /** The body of each of these events. */
    async load(eventIds: Iterable<string>): Promise<Map<string, Buffer>> {
      const wanted = [...new Set(eventIds)];
      const missing = wanted.filter((id) => !bodies.has(id));
      const loaded = missing.length === 0 ? [] : await readEvents(database, missing);
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
