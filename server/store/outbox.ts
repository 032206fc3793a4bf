import {
  type EventData,
  type EventType,
  eventCatalogue,
  type InternalEventType,
  internalEvents,
} from "../schemas/event.ts";
import { type Connection, sql } from "./connection.ts";

const recorded = { ...eventCatalogue, ...internalEvents };

/**
 * Records an event in the transaction of the change it reports, so that it is sent if and only if the change commits.
 * `task.created` goes to every subscriber, other events to the parties. Source: docs/contract.md "Events and webhooks".
 */
export async function recordEvent(
  connection: Connection,
  type: EventType | InternalEventType,
  data: EventData,
): Promise<void> {
  // Removes what is not public, such as internal ids of the row, and throws if a part of the payload is missing.
  const payload = recorded[type].data.parse(data);
  await connection.query(sql`
    INSERT INTO events (type, task_id, recipients, data)
    VALUES (${type}, ${payload.task.id}::uuid, ${recipientsOf(type, payload)}::uuid[], ${JSON.stringify(payload)}::json)`);
}

function recipientsOf(type: EventType | InternalEventType, data: EventData): string[] | null {
  if (type === "task.expired") return [];
  if (type === "task.created") return null;
  const buyerId = data.task.buyer.id;
  return "bid" in data && type !== "bid.received" ? [buyerId, data.bid.bidder.id] : [buyerId];
}
