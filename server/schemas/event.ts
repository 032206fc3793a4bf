import { z } from "zod";
import { accountEvents, type KeyExcerpt } from "./accountEvents.ts";
import type { Agreement } from "./agreement.ts";
import type { ApprovalExcerpt } from "./approval.ts";
import { Artifact } from "./artifact.ts";
import type { Bid } from "./bid.ts";
import type { CheckResult } from "./checkResult.ts";
import { idOf, type Person, Timestamp } from "./common.ts";
import type { Dispute } from "./dispute.ts";
import {
  excerptOfReason,
  taskAndBid,
  taskOnly,
  withAgreement,
  withBid,
  withCheckedDelivery,
  withDispute,
  withQuestion,
  withTask,
} from "./eventData.ts";
import { AgreementExcerpt, MessageExcerpt } from "./excerpts.ts";
import { ExportRecord } from "./export.ts";
import { Payout } from "./payout.ts";
import type { Question } from "./question.ts";
import { Rating } from "./rating.ts";
import { ChangeRound } from "./round.ts";
import type { Task } from "./task.ts";
import { CreditedTopup, NotPostedBecause, TopupReversal } from "./topup.ts";

const theParties = "the buyer and the awarded bidder";

/**
 * The events that webhooks can subscribe to, which is a closed set: when each happens, whom it concerns, and its data
 * (public fields as they were right after the change, long texts shortened). Fields that `data` does not name are not
 * recorded. Source: docs/contract.md "Events and webhooks".
 */
export const eventCatalogue = {
  "task.created": { when: "a task is posted", to: "every subscriber", data: withTask },
  "bid.received": { when: "a bid is placed on a task", to: "the task's buyer", data: withBid },
  "task.awarded": { when: "the buyer awards a task to a bid", to: theParties, data: withBid },
  "delivery.posted": { when: "the awarded bidder delivers", to: theParties, data: withBid },
  "task.accepted": {
    when: "a delivery is accepted, by the buyer, by its checks or after 48 hours",
    to: theParties,
    data: withBid,
  },
  "task.disputed": { when: "either side opens a dispute", to: theParties, data: withDispute },
  "task.dispute_resolved": {
    when: "a moderator resolves a dispute, or both sides settle it",
    to: theParties,
    data: withDispute
      .extend({
        by: z.enum(["moderator", "parties"]).optional().meta({
          description: "Who has decided. Absent in events from before sides could settle.",
          example: "moderator",
        }),
      })
      .meta({ id: "DisputeResolvedEventData", description: "What events about a resolved dispute have." }),
  },
} as const;

export type EventType = keyof typeof eventCatalogue;
export const eventTypes = Object.keys(eventCatalogue) as EventType[]; // the keys of a literal are its type's keys

/** A sample in an event, which may be read long after a download link has expired. */
const SampleRecord = Artifact.omit({ downloadUrl: true }).meta({
  id: "SampleRecord",
  description: "A sample in an event. Read the task for a `downloadUrl`.",
});
export type SampleRecord = z.infer<typeof SampleRecord>;

const buyerAndBidder = "the buyer and the bidder";

/** The events that only the event log has. Source: docs/contract.md "Events and webhooks". */
const logOnlyCatalogue = {
  "task.updated": {
    when: "the buyer changes an open task, or the API key of a check",
    to: "the buyer, and the bidders whose bids were active",
    data: withTask,
  },
  "task.cancelled": {
    when: "a task is cancelled, by its buyer, by both sides, or because the bidder gives it back",
    to: "the buyer and the bidders whose bids were active, or the awarded bidder",
    data: taskOnly
      .extend({ ...excerptOfReason, reason: excerptOfReason.reason.optional() })
      .meta({ id: "TaskCancelledEventData", description: "What events about a cancelled task have." }),
  },
  "task.settled": {
    when: "both sides settle a task, with or without a dispute",
    to: theParties,
    data: taskAndBid
      .extend({ agreement: AgreementExcerpt.meta({ description: "What they agreed on." }) })
      .meta({ id: "TaskSettledEventData", description: "What events about a settled task have." }),
  },
  "agreement.proposed": { when: "one side proposes an agreement", to: theParties, data: withAgreement },
  "agreement.ended": {
    when: "an agreement is accepted, declined or withdrawn, or lapses; its `status` says which",
    to: theParties,
    data: withAgreement,
  },
  "task.expired": { when: "an awarded task was not delivered in time", to: theParties, data: withBid },
  "task.changes_requested": {
    when: "the buyer asks for changes to a delivery",
    to: theParties,
    data: taskAndBid
      .extend({ ...excerptOfReason })
      .meta({ id: "ChangesRequestedEventData", description: "What events about requested changes have." }),
  },
  "task.changes_declined": {
    when: "the bidder declines the changes, or their time is over: the earlier delivery stands again",
    to: theParties,
    data: taskAndBid
      .extend({
        by: ChangeRound.shape.declinedBy.unwrap().meta({
          description: "`clock`: the bidder did nothing in time.",
          example: "bidder",
        }),
        ...excerptOfReason,
        reason: ChangeRound.shape.declinedReason,
      })
      .meta({ id: "ChangesDeclinedEventData", description: "What events about declined changes have." }),
  },
  "bid.updated": { when: "a bid is changed", to: buyerAndBidder, data: withBid },
  "bid.withdrawn": { when: "a bid is withdrawn", to: buyerAndBidder, data: withBid },
  "bid.rejected": { when: "the task goes to another bid or is cancelled", to: "the bidder", data: withBid },
  "sample.posted": {
    when: "the awarded bidder adds a sample",
    to: theParties,
    data: taskAndBid
      .extend({ sample: SampleRecord.meta({ description: "The new sample." }) })
      .meta({ id: "SampleEventData", description: "What events about a sample have." }),
  },
  "delivery.checked": {
    when: "the built-in checks of a delivery have ended, and at each report of another check",
    to: theParties,
    data: withCheckedDelivery,
  },
  "rating.posted": {
    when: "one side rates the other",
    to: theParties,
    data: taskOnly
      .extend({ rating: Rating.meta({ description: "The new rating." }) })
      .meta({ id: "RatingEventData", description: "What events about a rating have." }),
  },
  "question.asked": { when: "somebody asks about an open task", to: "the task's buyer", data: withQuestion },
  "question.answered": {
    when: "the buyer answers a question, or changes the answer",
    to: "the asker and the bidders whose bids are active",
    data: withQuestion,
  },
  "message.posted": {
    when: "somebody writes a message",
    to: "the other sides of the conversation",
    data: z
      .object({ message: MessageExcerpt.meta({ description: "The new message." }) })
      .meta({ id: "MessageEventData", description: "What events about a message have." }),
  },
  "topup.credited": {
    when: "a top-up is credited to the wallet",
    to: "the wallet's owner",
    data: z
      .object({
        topup: CreditedTopup.meta({ description: "The top-up." }),
        taskId: idOf("task", "Of a top-up for a task: the task that was posted with it.").optional(),
        notPostedBecause: NotPostedBecause.optional(),
      })
      .meta({ id: "TopupEventData", description: "What events about a top-up have." }),
  },
  "topup.reversed": {
    when: "a refund or chargeback takes a credited top-up back, or returns it",
    to: "the wallet's owner",
    data: z
      .object({
        topup: CreditedTopup.meta({ description: "The top-up." }),
        reversal: TopupReversal.meta({ description: "What was taken back, or returned." }),
      })
      .meta({ id: "TopupReversalEventData", description: "What events about a reversed top-up have." }),
  },
  "payout.updated": {
    when: "a payout is requested, and when its status changes",
    to: "the payout's owner",
    data: z
      .object({ payout: Payout.meta({ description: "The payout as it was right after the change." }) })
      .meta({ id: "PayoutEventData", description: "What events about a payout have." }),
  },
  "export.ready": {
    when: "a file that somebody asked for is ready to be downloaded",
    to: "who asked for it",
    data: z
      .object({ export: ExportRecord.meta({ description: "The export. Read it for a `downloadUrl`." }) })
      .meta({ id: "ExportEventData", description: "What events about an export have." }),
  },
  ...accountEvents,
} as const;

/** All events, as the event log has them. */
export const logCatalogue = { ...eventCatalogue, ...logOnlyCatalogue } as const;

export type LogEventType = keyof typeof logCatalogue;
export const logEventTypes = Object.keys(logCatalogue) as LogEventType[]; // the keys of a literal are its type's keys

/** The types that only the event log has, unless an endpoint asks for them in `logEvents`. */
export type LogOnlyEventType = keyof typeof logOnlyCatalogue;
export const logOnlyEventTypes = Object.keys(logOnlyCatalogue) as LogOnlyEventType[]; // as above

/** Of an owner's API keys, only the one that such an event is about has it in its log. */
export const typesOfOneKey = logEventTypes.filter((type) => type.startsWith("approval."));

/** Whether webhooks can subscribe to events of this type. */
export const isForWebhooks = (type: LogEventType): type is EventType => Object.hasOwn(eventCatalogue, type);

/** The data of any event, as it is stored and sent. */
export type EventData = z.infer<(typeof logCatalogue)[LogEventType]["data"]>;

/** The records that an event is made from. What its data does not need is ignored; what it needs and lacks is a bug. */
export interface EventRecords {
  task?: Omit<Task, "checks">;
  bid?: Bid;
  dispute?: Dispute;
  sample?: SampleRecord;
  rating?: Rating;
  delivery?: { id: string; checks: CheckResult[] };
  question?: Question;
  message?: Omit<MessageExcerpt, "textTruncated">;
  topup?: CreditedTopup;
  reversal?: TopupReversal;
  taskId?: string;
  notPostedBecause?: NotPostedBecause;
  payout?: Payout;
  agreement?: Agreement;
  export?: ExportRecord;
  approval?: z.infer<typeof ApprovalExcerpt>;
  key?: KeyExcerpt;
  user?: Person;
  by?: "bidder" | "clock" | "moderator" | "parties";
  reason?: string | null;
}

/** Turns `task.created` into `TaskCreatedEvent`: code generators name a type after it. */
export const eventSchemaName = (type: LogEventType) =>
  `${type.replace(/(?:^|[._])(\w)/g, (_match, letter: string) => letter.toUpperCase())}Event`;

const bodyOf = <Type extends LogEventType, Data extends z.ZodType>(
  type: Type,
  { when, to, data }: { when: string; to: string; data: Data },
) =>
  z
    .object({
      id: idOf("event", "Stays the same over retries and replays, so use it to skip duplicates."),
      type: z.literal(type).meta({ description: "What has happened." }),
      createdAt: Timestamp.meta({ description: "When it happened." }),
      data,
    })
    .meta({ id: eventSchemaName(type), description: `Happens when ${when}; for ${to}.` });

/** The bodies of all events, the same in the log and in webhooks. */
export const eventBodies = {
  "task.created": bodyOf("task.created", logCatalogue["task.created"]),
  "bid.received": bodyOf("bid.received", logCatalogue["bid.received"]),
  "task.awarded": bodyOf("task.awarded", logCatalogue["task.awarded"]),
  "delivery.posted": bodyOf("delivery.posted", logCatalogue["delivery.posted"]),
  "task.accepted": bodyOf("task.accepted", logCatalogue["task.accepted"]),
  "task.disputed": bodyOf("task.disputed", logCatalogue["task.disputed"]),
  "task.dispute_resolved": bodyOf("task.dispute_resolved", logCatalogue["task.dispute_resolved"]),
  "task.updated": bodyOf("task.updated", logCatalogue["task.updated"]),
  "task.cancelled": bodyOf("task.cancelled", logCatalogue["task.cancelled"]),
  "task.expired": bodyOf("task.expired", logCatalogue["task.expired"]),
  "task.settled": bodyOf("task.settled", logCatalogue["task.settled"]),
  "agreement.proposed": bodyOf("agreement.proposed", logCatalogue["agreement.proposed"]),
  "agreement.ended": bodyOf("agreement.ended", logCatalogue["agreement.ended"]),
  "task.changes_requested": bodyOf("task.changes_requested", logCatalogue["task.changes_requested"]),
  "task.changes_declined": bodyOf("task.changes_declined", logCatalogue["task.changes_declined"]),
  "bid.updated": bodyOf("bid.updated", logCatalogue["bid.updated"]),
  "bid.withdrawn": bodyOf("bid.withdrawn", logCatalogue["bid.withdrawn"]),
  "bid.rejected": bodyOf("bid.rejected", logCatalogue["bid.rejected"]),
  "sample.posted": bodyOf("sample.posted", logCatalogue["sample.posted"]),
  "delivery.checked": bodyOf("delivery.checked", logCatalogue["delivery.checked"]),
  "rating.posted": bodyOf("rating.posted", logCatalogue["rating.posted"]),
  "question.asked": bodyOf("question.asked", logCatalogue["question.asked"]),
  "question.answered": bodyOf("question.answered", logCatalogue["question.answered"]),
  "message.posted": bodyOf("message.posted", logCatalogue["message.posted"]),
  "topup.credited": bodyOf("topup.credited", logCatalogue["topup.credited"]),
  "topup.reversed": bodyOf("topup.reversed", logCatalogue["topup.reversed"]),
  "payout.updated": bodyOf("payout.updated", logCatalogue["payout.updated"]),
  "export.ready": bodyOf("export.ready", logCatalogue["export.ready"]),
  "approval.requested": bodyOf("approval.requested", logCatalogue["approval.requested"]),
  "approval.decided": bodyOf("approval.decided", logCatalogue["approval.decided"]),
  "key.created": bodyOf("key.created", logCatalogue["key.created"]),
  "password.changed": bodyOf("password.changed", logCatalogue["password.changed"]),
  "account.suspended": bodyOf("account.suspended", logCatalogue["account.suspended"]),
} as const satisfies Record<LogEventType, z.ZodType>;

const { "task.created": firstBody, ...otherBodies } = eventBodies;

/** An event of the log. */
export const LogEvent = z.discriminatedUnion("type", [firstBody, ...Object.values(otherBodies)]).meta({
  id: "LogEvent",
  description: "An event of the log: `type` says which fields `data` has.",
});
export type LogEvent = z.infer<typeof LogEvent>;
