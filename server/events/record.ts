import { type Connection, sql } from "../db/connection.ts";
import { Bid } from "../schemas/bid.ts";
import { Dispute } from "../schemas/dispute.ts";
import { Task } from "../schemas/task.ts";
import type { EventType, InternalEventType } from "./catalogue.ts";

/** What subscribers are sent: public fields as they were at the change. */
export interface EventData {
  task: Task;
  bid?: Bid;
  dispute?: Dispute;
}

/**
 * Writes the event in the transaction of its change, so that it leaves with the change or not at all.
 * `task.created` goes to every subscriber, the others to the parties. Source: interface.md "Events".
 */
export async function recordEvent(
  connection: Connection,
  type: EventType | InternalEventType,
  data: EventData,
): Promise<void> {
  const recipients = recipientsOf(type, data);
  // The schemas keep what is not public (such as the row's own ids) out of what subscribers are sent.
  const { task, bid, dispute } = data;
  const payload = {
    task: Task.parse(task),
    ...(bid && { bid: Bid.parse(bid) }),
    ...(dispute && { dispute: Dispute.parse(dispute) }),
  };
  await connection.query(sql`
    INSERT INTO events (type, task_id, recipients, data)
    VALUES (${type}, ${task.id}::uuid, ${recipients}::uuid[], ${JSON.stringify(payload)}::json)`);
}

function recipientsOf(type: EventType | InternalEventType, { task, bid }: EventData): string[] | null {
  if (type === "task.expired") return [];
  if (type === "task.created") return null;
  if (type === "bid.received") return [task.buyer.id];
  return bid ? [task.buyer.id, bid.bidder.id] : [task.buyer.id];
}
