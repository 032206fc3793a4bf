import type { Bid } from "../schemas/bid.ts";
import { timestampOf } from "../schemas/common.ts";
import type { Dispute } from "../schemas/dispute.ts";
import { type EventData, type EventType, eventCatalogue } from "../schemas/event.ts";
import type { Task } from "../schemas/task.ts";
import type { StoredEvent } from "./payload.ts";

const sampleId = (digit: number) => `00000000-0000-7000-8000-00000000000${digit}`;

const TWO_DAYS_MS = 2 * 86_400_000;

/** Returns the data of a sample event of this type, about a task that does not exist. */
export function sampleEvent(type: EventType, now: Date): EventData {
  const at = timestampOf(now);
  const later = timestampOf(new Date(now.getTime() + TWO_DAYS_MS));
  const buyer = { id: sampleId(1), displayName: "Sample buyer" };
  const bidder = { id: sampleId(2), displayName: "Sample bidder" };
  const awarded = type !== "task.created" && type !== "bid.received";
  const delivered = awarded && type !== "task.awarded";
  const statusOf: Record<EventType, Task["status"]> = {
    "task.created": "open",
    "bid.received": "open",
    "task.awarded": "awarded",
    "delivery.posted": "delivered",
    "task.accepted": "accepted",
    "task.disputed": "disputed",
    "task.dispute_resolved": "resolved",
  };
  const task: Task = {
    id: sampleId(3),
    title: "A sample task",
    maxBudgetCents: 10_000,
    tags: ["sample"],
    status: statusOf[type],
    createdAt: at,
    bidCount: type === "task.created" ? 0 : 1,
    description: "Sent to test this endpoint; this task does not exist.",
    acceptanceCriteria: null,
    buyer,
    awardedBidId: awarded ? sampleId(4) : null,
    awardedAt: awarded ? at : null,
    deliveryDueAt: awarded ? later : null,
    deliveredAt: delivered ? at : null,
    acceptanceDeadlineAt: delivered ? later : null,
    acceptedAt: type === "task.accepted" ? at : null,
    closedAt: type === "task.accepted" || type === "task.dispute_resolved" ? at : null,
    updatedAt: at,
  };
  const bid: Bid = {
    id: sampleId(4),
    taskId: task.id,
    bidder,
    priceCents: 8_000,
    etaHours: 48,
    notes: null,
    status: awarded ? "awarded" : "active",
    createdAt: at,
    updatedAt: at,
    taskEditedAt: null,
  };
  const resolved = type === "task.dispute_resolved";
  const dispute: Dispute = {
    id: sampleId(5),
    taskId: task.id,
    openedBy: "buyer",
    reason: "A sample reason.",
    status: resolved ? "resolved" : "open",
    resolution: resolved ? "split" : null,
    buyerCents: resolved ? 3_000 : null,
    bidderCents: resolved ? 5_000 : null,
    note: null,
    createdAt: at,
    resolvedAt: resolved ? at : null,
  };
  return eventCatalogue[type].data.parse({ task, bid, dispute });
}

/** A complete event for the documentation. */
export function exampleEvent(type: EventType): StoredEvent {
  return {
    id: "019aa1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b",
    type,
    createdAt: "2026-11-20T12:00:00.123456Z",
    data: sampleEvent(type, new Date("2026-11-20T12:00:00.123Z")),
  };
}
