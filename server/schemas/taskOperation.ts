import { z } from "zod";

/** The operations that act on a task or on a bid on it, by their names over typed RPC. */
export const taskOperations = [
  "tasks.update",
  "tasks.cancel",
  "tasks.award",
  "tasks.accept",
  "tasks.requestChanges",
  "tasks.declineChanges",
  "tasks.dispute",
  "tasks.rate",
  "tasks.ask",
  "questions.answer",
  "bids.place",
  "bids.update",
  "bids.withdraw",
  "bids.sampleInit",
  "bids.sampleFinalize",
  "bids.deliveryInit",
  "bids.deliveryFinalize",
  "bids.giveBack",
  "agreements.propose",
  "agreements.accept",
  "agreements.decline",
  "agreements.withdraw",
  "disputes.resolve",
] as const;

export const TaskOperation = z.enum(taskOperations).meta({
  id: "TaskOperation",
  description: "An operation on a task, or on a bid on it, by its name over typed RPC.",
});
export type TaskOperation = z.infer<typeof TaskOperation>;
