import { z } from "zod";
import { emptyableText, Id, line, Person, Timestamp, text } from "./common.ts";

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
export const TaskStatus = z.enum(taskStatuses);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** A task as lists show it. */
export const TaskListItem = z
  .object({
    id: Id,
    title: z.string(),
    maxBudgetCents: z.int(),
    tags: z.array(z.string()),
    status: TaskStatus,
    createdAt: Timestamp,
    bidCount: z.int().meta({ description: "Number of bids, without withdrawn ones." }),
  })
  .meta({ id: "TaskListItem" });
export type TaskListItem = z.infer<typeof TaskListItem>;

/** The full task, as signed-in callers see it. */
export const Task = TaskListItem.extend({
  description: z.string(),
  acceptanceCriteria: z.string().nullable(),
  buyer: Person,
  awardedBidId: Id.nullable(),
  awardedAt: Timestamp.nullable(),
  deliveryDueAt: Timestamp.nullable(),
  deliveredAt: Timestamp.nullable(),
  acceptanceDeadlineAt: Timestamp.nullable(),
  acceptedAt: Timestamp.nullable(),
  closedAt: Timestamp.nullable(),
  updatedAt: Timestamp,
}).meta({ id: "Task" });
export type Task = z.infer<typeof Task>;

/**
 * The fields of a task that the buyer sets. The database, which defines when two tags are the same, removes duplicates.
 * Source: docs/contract.md "Records".
 */
export const taskInput = {
  title: line(1, 200).meta({ example: "Translate two pages" }),
  description: text(1, 20_000).meta({ example: "From English to Finnish, in plain words." }),
  acceptanceCriteria: emptyableText(10_000),
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
} as const;
