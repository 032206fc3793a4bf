import { z } from "zod";
import type { Bid } from "./bid.ts";
import type { Dispute } from "./dispute.ts";
import { BidExcerpt, DisputeExcerpt, TaskExcerpt } from "./excerpts.ts";
import type { Task } from "./task.ts";

const withTask = z.object({ task: TaskExcerpt });
const withBid = withTask.extend({ bid: BidExcerpt });
const withDispute = withBid.extend({ dispute: DisputeExcerpt });

const theParties = "the buyer and the awarded bidder";

/**
 * All events: when each is sent, to whom, and with what data (public fields as they were right after the change, long
 * texts shortened). Fields that `data` does not name are not sent. Source: docs/contract.md "Events and webhooks".
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

/** The data of any event, as it is stored and sent. */
export type EventData = z.infer<(typeof eventCatalogue)[EventType]["data"]>;

/** The records that an event is about. What its data does not need is ignored. */
export interface EventRecords {
  task: Task;
  bid?: Bid;
  dispute?: Dispute;
}
