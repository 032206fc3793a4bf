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
  return eventCatalogue[type].data.parse({
    task: sampleTask(type, at, later),
    bid: sampleBid(type, at),
    dispute: sampleDispute(type, at),
  });
}

const buyer = { id: sampleId(1), displayName: "Sample buyer" };
const bidder = { id: sampleId(2), displayName: "Sample bidder" };
const taskId = sampleId(3);
const isAwarded = (type: EventType) => type !== "task.created" && type !== "bid.received";

const statusAfter: Record<EventType, Task["status"]> = {
  "task.created": "open",
  "bid.received": "open",
  "task.awarded": "awarded",
  "delivery.posted": "delivered",
  "task.accepted": "accepted",
  "task.disputed": "disputed",
  "task.dispute_resolved": "resolved",
};

function sampleTask(type: EventType, at: string, later: string): Task {
  const awarded = isAwarded(type);
  const delivered = awarded && type !== "task.awarded";
  return {
    id: taskId,
    title: "A sample task",
    maxBudgetCents: 10_000,
    tags: ["sample"],
    status: statusAfter[type],
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
    revisions: 0,
    revisionsUsed: 0,
    acceptedAt: type === "task.accepted" ? at : null,
    closedAt: type === "task.accepted" || type === "task.dispute_resolved" ? at : null,
    closedBecause: null,
    checks: [],
    acceptOnChecks: null,
    acceptedBy: type === "task.accepted" ? "buyer" : null,
    updatedAt: at,
  };
}

const sampleBid = (type: EventType, at: string): Bid => ({
  id: sampleId(4),
  taskId,
  bidder,
  priceCents: 8_000,
  etaHours: 48,
  notes: null,
  status: isAwarded(type) ? "awarded" : "active",
  createdAt: at,
  updatedAt: at,
  taskEditedAt: null,
});

function sampleDispute(type: EventType, at: string): Dispute {
  const resolved = type === "task.dispute_resolved";
  return {
    id: sampleId(5),
    taskId,
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
