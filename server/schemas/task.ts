import { z } from "zod";
import { Id, line, Person, Timestamp, text } from "./common.ts";

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

const Tag = line(1, 40).transform((tag) => tag.toLowerCase());

/** The fields of a task that the buyer sets. Source: docs/contract.md "Records". */
export const taskInput = {
  title: line(3, 120).meta({ example: "Translate two pages" }),
  description: text(1, 20_000).meta({ example: "From English to Finnish, in plain words." }),
  acceptanceCriteria: text(0, 10_000).nullable(),
  maxBudgetCents: z
    .int()
    .min(100)
    .max(10_000_000)
    .meta({ description: "Integer cents. Held while the task is open.", example: 12_000 }),
  tags: z
    .array(Tag)
    .max(20)
    .transform((tags) => [...new Set(tags)])
    .meta({
      description: "Up to 20 tags of 1 to 40 characters. They are trimmed and lower-cased, and duplicates are removed.",
      example: ["translation", "finnish"],
    }),
} as const;
