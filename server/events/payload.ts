import type { EventType } from "./catalogue.ts";

/** An event as its row holds it; it never changes. */
export interface StoredEvent {
  id: string;
  type: EventType;
  createdAt: string;
  data: unknown;
}

/** What subscribers are sent. Made of the row alone, so that every attempt of an event has the same bytes. */
export function eventBody({ id, type, createdAt, data }: StoredEvent): Buffer {
  return Buffer.from(JSON.stringify({ id, type, createdAt, data }));
}
