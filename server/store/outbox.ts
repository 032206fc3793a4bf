import {
  type EventData,
  type EventRecords,
  type EventType,
  eventCatalogue,
  type InternalEventType,
  internalEvents,
} from "../schemas/event.ts";
import { excerptOfBid, excerptOfDispute, excerptOfTask } from "../schemas/excerpts.ts";
import { type Connection, queryOne, sql } from "./connection.ts";

const recorded = { ...eventCatalogue, ...internalEvents };

/**
 * What is stored about an event. Every delivery and replay sends exactly this, whatever happens to the records later. Long
 * texts are shortened: their rows have them, and thousands of events about one task must not each keep a copy.
 */
function dataOf(type: EventType | InternalEventType, { task, bid, dispute }: EventRecords): EventData {
  // Removes what is not public, such as internal ids of the row, and throws if a part of the payload is missing.
  return recorded[type].data.parse({
    task: excerptOfTask(task),
    ...(bid && { bid: excerptOfBid(bid) }),
    ...(dispute && { dispute: excerptOfDispute(dispute) }),
  });
}

/**
 * Records an event in the transaction of the change it reports, so that it is sent if and only if the change commits.
 * `task.created` goes to every subscriber, other events to the parties. Source: docs/contract.md "Events and webhooks".
 */
export async function recordEvent(
  connection: Connection,
  type: EventType | InternalEventType,
  records: EventRecords,
): Promise<void> {
  const data = dataOf(type, records);
  await connection.query(sql`
    INSERT INTO events (type, task_id, recipients, data)
    VALUES (${type}, ${data.task.id}::uuid, ${recipientsOf(type, data)}::uuid[], ${JSON.stringify(data)}::json)`);
}

/**
 * Records a sample event, which an owner requests to test an endpoint, and returns its id. It has no recipients and the
 * fan-out skips it: the caller adds its only delivery.
 */
export async function recordSampleEvent(
  connection: Connection,
  type: EventType,
  records: EventRecords,
): Promise<string> {
  const { id } = await queryOne<{ id: string }>(
    connection,
    sql`
    INSERT INTO events (type, recipients, data, fanned_out_at)
    VALUES (${type}, '{}', ${JSON.stringify(dataOf(type, records))}::json, clock_timestamp())
    RETURNING id`,
  );
  return id;
}

function recipientsOf(type: EventType | InternalEventType, data: EventData): string[] | null {
  if (type === "task.expired") return [];
  if (type === "task.created") return null;
  const buyerId = data.task.buyer.id;
  return "bid" in data && type !== "bid.received" ? [buyerId, data.bid.bidder.id] : [buyerId];
}
