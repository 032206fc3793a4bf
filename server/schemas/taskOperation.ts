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
  "tasks.fileInit",
  "tasks.fileFinalize",
  "tasks.removeFile",
  "tasks.ask",
  "questions.answer",
  "bids.place",
  "bids.update",
  "bids.withdraw",
  "bids.sampleInit",
  "bids.sampleFinalize",
  "bids.deliveryInit",
  "bids.deliveryFinalize",
  "bids.deliveryPreflight",
  "bids.giveBack",
  "agreements.propose",
  "agreements.accept",
  "agreements.decline",
  "agreements.withdraw",
  "messages.send",
  "messages.fileInit",
  "messages.fileFinalize",
  "tasks.setCheckKey",
  "deliveries.report",
  "disputes.resolve",
] as const;

export const TaskOperation = z.enum(taskOperations).meta({
  id: "TaskOperation",
  description: "An operation on a task, or on a bid on it, by its name over typed RPC.",
});
export type TaskOperation = z.infer<typeof TaskOperation>;

/** What a signed-in caller may do now. */
export const AvailableActions = z.array(TaskOperation).meta({
  description:
    "For signed-in callers: the operations of typed RPC that you could do now to this task, or to your own bid on it, " +
    "with these credentials. None of them is refused for your role, scopes or the status; all others are.",
  example: ["bids.place"],
});
