import { z } from "zod";
import { AcceptOnChecks, Check, optionalChecks } from "./check.ts";
import { emptyableText, idOf, line, Person, Price, Timestamp, text } from "./common.ts";
import { Changes, MAX_REVISIONS } from "./round.ts";

export const taskStatuses = [
  "open",
  "awarded",
  "delivered",
  "accepted",
  "cancelled",
  "disputed",
  "resolved",
  "expired",
] as const;
export const TaskStatus = z.enum(taskStatuses).meta({
  id: "TaskStatus",
  description:
    "`open`: takes bids. `awarded`: the bidder works, for the first time or on changes. `delivered`: the buyer accepts, " +
    "disputes or asks for changes. `accepted`: the bidder is paid. `cancelled`: the hold has returned; `closedBecause` says " +
    "why. `disputed`: a moderator decides. `resolved`: a moderator has decided, or both sides have settled. " +
    "`expired`: not delivered in time, the hold has returned.",
});
export type TaskStatus = z.infer<typeof TaskStatus>;

const ClosedBecause = z.enum(["cancelled", "agreed", "given_back"]).meta({
  id: "ClosedBecause",
  description:
    "Why a task ended: `cancelled`, by the buyer before an award; `agreed`, by both sides; `given_back`, by the bidder.",
});
export type ClosedBecause = z.infer<typeof ClosedBecause>;

/** A task as lists show it. */
export const TaskListItem = z
  .object({
    id: idOf("task"),
    title: z.string().meta({ description: "One line.", example: "Translate two pages" }),
    maxBudgetCents: Price.meta({ description: "The most that a bid may cost, in integer cents.", example: 12_000 }),
    tags: z.array(z.string()).meta({ description: "As the buyer wrote them.", example: ["translation", "finnish"] }),
    status: TaskStatus,
    createdAt: Timestamp.meta({ description: "When the task was posted." }),
    bidCount: z.int32().meta({ description: "Number of bids, without withdrawn ones.", example: 0 }),
  })
  .meta({ id: "TaskListItem", description: "A task as lists show it." });
export type TaskListItem = z.infer<typeof TaskListItem>;

/** Fields that tasks in events and kept answers from before they existed do not have: there, `Task` has their defaults. */
const laterFields = {
  revisions: z.int32().meta({ description: "How often the buyer may ask for changes to a delivery.", example: 0 }),
  revisionsUsed: z.int32().meta({ description: "How often the buyer has asked for changes.", example: 0 }),
  closedBecause: ClosedBecause.nullable().meta({
    description: "Why the task ended, if its status does not say all of it.",
    example: null,
  }),
  checks: z.array(Check).meta({
    description: "How a delivery is judged at once, as agreed before the award.",
    example: [{ name: "A PDF", required: true, kind: "type", types: ["application/pdf"] }],
  }),
  acceptOnChecks: AcceptOnChecks.nullable().meta({
    description: "Whether, and when, the task is accepted because its required checks have passed.",
    example: null,
  }),
} as const;

/** The full task, as signed-in callers see it. */
export const Task = TaskListItem.extend({
  description: z
    .string()
    .meta({ description: "What is to be done.", example: "From English to Finnish, in plain words." }),
  acceptanceCriteria: z.string().nullable().meta({ description: "What the delivery must fulfil.", example: null }),
  buyer: Person.meta({ description: "Who posted the task." }),
  awardedBidId: idOf("bid").nullable().meta({ description: "The bid that was awarded.", example: null }),
  awardedAt: Timestamp.nullable().meta({ description: "When the task was awarded.", example: null }),
  deliveryDueAt: Timestamp.nullable().meta({
    description:
      "When the delivery is due: the award plus the bid's `etaHours`. Without a delivery, the task expires 7 days later. In a " +
      "round of changes, when those are due.",
    example: null,
  }),
  deliveredAt: Timestamp.nullable().meta({ description: "When the latest delivery arrived.", example: null }),
  acceptanceDeadlineAt: Timestamp.nullable().meta({
    description: "Until when the delivery can be disputed; then it counts as accepted, and the bidder is paid.",
    example: null,
  }),
  revisions: laterFields.revisions.default(0),
  revisionsUsed: laterFields.revisionsUsed.default(0),
  changes: Changes.nullable()
    .optional()
    .meta({ description: "For the two sides: what the buyer has asked for; null outside a round of changes." }),
  checks: laterFields.checks.default([]),
  acceptOnChecks: laterFields.acceptOnChecks.prefault(null),
  acceptsAt: Timestamp.nullable().optional().meta({
    description: "For the two sides: when the task is accepted because its checks have passed; null if that is not so.",
    example: null,
  }),
  acceptedBy: z.enum(["buyer", "clock", "checks"]).nullable().optional().meta({
    description: "For the two sides: who accepted the delivery; `clock`, at the end of the window.",
    example: null,
  }),
  acceptedAt: Timestamp.nullable().meta({
    description: "When the delivery was accepted, or counted as such.",
    example: null,
  }),
  closedAt: Timestamp.nullable().meta({ description: "When the task reached an end state.", example: null }),
  closedBecause: laterFields.closedBecause.prefault(null),
  updatedAt: Timestamp.meta({ description: "When the task last changed." }),
}).meta({ id: "Task", description: "A task, as signed-in callers see it." });
export type Task = z.infer<typeof Task>;

/** The part of a task that anonymous callers see. */
export const PublicTask = TaskListItem.extend({ description: Task.shape.description });

/** A task as its reader may see it: the fields that not everyone sees are optional. */
export const TaskDetail = Task.extend(laterFields).partial().extend(PublicTask.shape).meta({
  id: "TaskDetail",
  description:
    "A task as you may see it. Signed-in callers get all fields, anonymous callers only those that are required.",
});

/**
 * The fields of a task that the buyer sets. The database, which defines when two tags are the same, removes duplicates.
 * Source: docs/contract.md "Records".
 */
export const taskInput = {
  title: line(1, 200).meta({ description: "One line, trimmed. Everyone sees it.", example: "Translate two pages" }),
  description: text(1, 20_000).meta({
    description: "What is to be done, kept as it is sent. Everyone sees it.",
    example: "From English to Finnish, in plain words.",
  }),
  acceptanceCriteria: emptyableText(10_000).meta({
    description: "What the delivery must fulfil. Signed-in users see it. Null or empty for none.",
    example: "No machine translation.",
  }),
  maxBudgetCents: z
    .int()
    .min(1)
    .max(10_000_000)
    .meta({ description: "Integer cents. Held while the task is open.", example: 12_000 }),
  tags: z
    .array(line(1, 40))
    .max(20)
    .meta({
      description: "Trimmed and otherwise kept as written. Of tags that differ only in case, the first one is kept.",
      example: ["translation", "finnish"],
    }),
  revisions: z.int().min(0).max(MAX_REVISIONS).meta({
    description:
      "How often you may ask for changes to a delivery, without a dispute. Bidders see it before they bid. 0 by default.",
    example: 1,
  }),
} as const;

/** What a task is posted with. */
export const CreateTask = z.strictObject({
  title: taskInput.title,
  description: taskInput.description,
  acceptanceCriteria: taskInput.acceptanceCriteria.optional(),
  maxBudgetCents: taskInput.maxBudgetCents,
  tags: taskInput.tags,
  revisions: taskInput.revisions.optional(),
  ...optionalChecks,
});
export type CreateTask = z.infer<typeof CreateTask>;
