import { z } from "zod";
import { idOf, Timestamp } from "./common.ts";

/** What a key may have to ask its owner about, by the names of typed RPC. */
export const approvableOperations = [
  "tasks.create",
  "tasks.update",
  "tasks.award",
  "tasks.accept",
  "payouts.create",
  "agreements.propose",
  "agreements.accept",
  "deliveries.report",
] as const;
export type ApprovableOperation = (typeof approvableOperations)[number];

export const approvalStatuses = ["pending", "approved", "declined", "expired", "superseded", "void", "failed"] as const;
export const ApprovalStatus = z.enum(approvalStatuses).meta({
  id: "ApprovalStatus",
  description:
    "`pending` until the owner answers. `approved`: it was done. `failed`: it was approved, and refused; see `error`. `declined`: see " +
    "`reason`. `expired`: nobody answered in time. `superseded`: the key has asked for something else instead. `void`: the key, its " +
    "owner or the task has ended.",
});
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

const json = z
  .record(z.string(), z.unknown())
  .meta({ id: "JsonObject", description: "An object of whatever operation it belongs to." });

export const Approval = z
  .object({
    id: idOf("approval"),
    keyId: idOf("API key", "The API key that asks."),
    operation: z.enum(approvableOperations).meta({ description: "What it would do.", example: "tasks.award" }),
    summary: z.string().meta({
      description: "What would happen, in one sentence. Titles and names in it were written by users.",
      example: "Award “Translate a page” to Bob for $85.00.",
    }),
    amountCents: z
      .int()
      .min(0)
      .meta({ description: "What it holds, commits or pays, in integer cents.", example: 8_500 }),
    taskId: idOf("task", "The task that it is about; null for a new task and a payout.").nullable(),
    bidId: idOf("bid", "The bid that is awarded or paid; null if there is none.").nullable(),
    input: json.meta({ description: "The operation's input.", example: { amountCents: 8_500 } }),
    version: z.string().meta({
      description: "Changes when the amount, the payee, the task or the bid does. Send it back as `seen`.",
      example: "b0JkZ2Vu",
    }),
    result: json
      .nullable()
      .meta({ description: "With `approved`: what the operation returned. Null otherwise.", example: null }),
    status: ApprovalStatus.meta({ example: "pending" }),
    reason: z
      .string()
      .nullable()
      .meta({ description: "With `declined`: why, in the owner's words. Null otherwise.", example: null }),
    error: json
      .nullable()
      .meta({ description: "With `failed`: the body of the error with which it was refused.", example: null }),
    createdAt: Timestamp.meta({ description: "When it was first asked." }),
    expiresAt: Timestamp.meta({ description: "Until when it can be answered." }),
    decidedAt: Timestamp.nullable().meta({ description: "When it stopped being pending.", example: null }),
    decidedBy: idOf("user")
      .nullable()
      .prefault(null) // events from before it was there lack it
      .meta({ description: "Who approved or declined it; null if it ended without an answer.", example: null }),
  })
  .meta({ id: "Approval", description: "What an API key asks its owner, and the answer." });
export type Approval = z.infer<typeof Approval>;

/** An approval as events show it. Its input and result can be long: the record has them. */
export const ApprovalExcerpt = Approval.omit({ input: true, result: true }).meta({
  id: "ApprovalExcerpt",
  description: "An approval as events show it: without `input` and `result`, which `GET /approvals/{id}` has.",
});
