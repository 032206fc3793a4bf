import { z } from "zod";
import { Bid } from "./bid.ts";
import { Dispute } from "./dispute.ts";
import { Task } from "./task.ts";

const withTask = z.object({ task: Task });
const withBid = withTask.extend({ bid: Bid });
const withDispute = withBid.extend({ dispute: Dispute });

const theParties = "the buyer and the awarded bidder";

/**
 * The closed set of events: when each is sent, to whom, and what it carries (public fields as they were at the change).
 * Whatever a `data` does not name is not sent. Source: interface.md "Events".
 */
export const eventCatalogue = {
  "task.created": { when: "a task is posted", to: "every subscriber", data: withTask },
  "bid.received": { when: "a bid is placed on a task", to: "the task's buyer", data: withBid },
  "task.awarded": { when: "the buyer awards a task to a bid", to: theParties, data: withBid },
  "delivery.posted": { when: "the awarded bidder delivers", to: theParties, data: withBid },
  "task.accepted": {
    when: "a delivery is accepted, by the buyer or after 48 hours",
    to: theParties,
    data: withBid,
  },
  "task.disputed": { when: "either side opens a dispute", to: theParties, data: withDispute },
  "task.dispute_resolved": { when: "a moderator resolves a dispute", to: theParties, data: withDispute },
} as const;

export type EventType = keyof typeof eventCatalogue;
export const eventTypes = Object.keys(eventCatalogue) as EventType[]; // the keys of a literal are its type's keys

/** What is recorded for our own history, but is no event of the webhooks: nobody can subscribe to it. */
export const internalEvents = { "task.expired": { data: withBid } } as const;
export type InternalEventType = keyof typeof internalEvents;

/** What some event carries. */
export type EventData = z.infer<(typeof eventCatalogue)[EventType]["data"]>;
