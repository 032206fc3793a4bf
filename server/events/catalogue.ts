/** The closed set of events. Source: interface.md "Events". */
export const eventTypes = [
  "task.created",
  "bid.received",
  "task.awarded",
  "delivery.posted",
  "task.accepted",
  "task.disputed",
  "task.dispute_resolved",
] as const;

export type EventType = (typeof eventTypes)[number];
