import { z } from "zod";
import { Id, Timestamp } from "../schemas/common.ts";
import { type EventType, eventCatalogue } from "../schemas/event.ts";

/** An event as its row holds it; it never changes. */
export interface StoredEvent {
  id: string;
  type: EventType;
  createdAt: string;
  data: unknown;
}

/**
 * What subscribers are sent. Made of the row alone, so that every attempt of an event has the same bytes.
 * It has memory of its own: a small `Buffer.from` is a piece of Node's shared 64 KiB, and would keep all of that alive
 * for as long as a worker keeps it (measured: 20 KB an event).
 */
export function eventBody({ id, type, createdAt, data }: StoredEvent): Buffer {
  const text = JSON.stringify({ id, type, createdAt, data });
  const body = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  body.write(text);
  return body;
}

/** The schema of the body of an event of this type. */
export const eventSchema = (type: EventType) =>
  z.object({
    id: Id.meta({ description: "The same over retries and replays: skip one that has come before." }),
    type: z.literal(type),
    createdAt: Timestamp,
    data: eventCatalogue[type].data,
  });
