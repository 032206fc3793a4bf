import { z } from "zod";
import { Bid } from "./bid.ts";
import { Dispute } from "./dispute.ts";
import { Task } from "./task.ts";

const withTask = z.object({ task: Task });
const withBid = withTask.extend({ bid: Bid });
const withDispute = withBid.extend({ dispute: Dispute });

const theParties = "the buyer and the awarded bidder";

/**
 * All events: when each is sent, to whom, and with what data (public fields as they were right after the change). Fields
 * that `data` does not name are not sent. Source: docs/contract.md "Events and webhooks".
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

/** Events that are recorded for our own history only: nobody can subscribe to them. */
export const internalEvents = { "task.expired": { data: withBid } } as const;
export type InternalEventType = keyof typeof internalEvents;

/** The data of any event. */
export type EventData = z.infer<(typeof eventCatalogue)[EventType]["data"]>;
