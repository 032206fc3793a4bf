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

/** What is recorded for our own history, but is no event of the webhooks: nobody can subscribe to it. */
export type InternalEventType = "task.expired";
