import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { TaskStatus } from "../../schemas/task.ts";
import type { TaskRecord } from "./records.ts";

/**
 * What each action needs and leads to: THE state machine of a task. Source: decisions.md "States".
 * `by` is who may act: the buyer, a bidder, the awarded bidder, or the clock.
 */
export const taskTransitions = {
  update: { from: "open", to: "open", by: "buyer" },
  cancel: { from: "open", to: "cancelled", by: "buyer" },
  award: { from: "open", to: "awarded", by: "buyer" },
  placeBid: { from: "open", to: "open", by: "bidder" },
  uploadSample: { from: "awarded", to: "awarded", by: "awardedBidder" },
  deliver: { from: "awarded", to: "delivered", by: "awardedBidder" },
  accept: { from: "delivered", to: "accepted", by: "buyer" },
  release: { from: "delivered", to: "accepted", by: "clock" },
} as const satisfies Record<string, { from: TaskStatus; to: TaskStatus; by: string }>;

export type TaskAction = keyof typeof taskTransitions;

/** Throws `forbidden` for whom the action is not, then `wrong_status` when the task is not where it starts. */
export function decideTaskAction(action: TaskAction, task: TaskRecord, userId: string): void {
  const { from, by } = taskTransitions[action];
  if (by === "buyer" && task.buyerId !== userId)
    throw new ApiError("forbidden", { message: "Only the buyer may do this." });
  if (by === "bidder" && task.buyerId === userId) {
    throw new ApiError("forbidden", { message: "You cannot bid on your own task." });
  }
  if (task.status !== from) {
    throw new ApiError("wrong_status", { message: `The task is ${task.status}; this needs it to be ${from}.` });
  }
}

/** A bid's owner uploads for it, once it is the awarded one. */
export function decideUpload(action: "uploadSample" | "deliver", task: TaskRecord, bid: Bid, userId: string): void {
  if (bid.bidder.id !== userId) throw new ApiError("forbidden", { message: "This is not your bid." });
  decideTaskAction(action, task, userId);
  if (task.awardedBidId !== bid.id) {
    throw new ApiError("wrong_status", { message: `The bid is ${bid.status}; this needs it to be awarded.` });
  }
}

/** Judged by the clock: once the window has passed the delivery counts as accepted, whenever the sweep comes round. */
export function decideAccept(task: TaskRecord, userId: string, now: Date): void {
  decideTaskAction("accept", task, userId);
  if (isPastAcceptance(task, now)) {
    throw new ApiError("wrong_status", {
      message: "The acceptance window has passed: the task is accepted by itself.",
    });
  }
}

export function isPastAcceptance(task: TaskRecord, now: Date): boolean {
  return task.acceptanceDeadlineAt !== null && now >= new Date(task.acceptanceDeadlineAt);
}

/** Award needs a bid that is active and belongs to this task. */
export function decideAward(task: TaskRecord, bid: Bid | null, userId: string): asserts bid is Bid {
  decideTaskAction("award", task, userId);
  if (bid === null || bid.taskId !== task.id || bid.status !== "active") throw new ApiError("bid_invalid");
}

/** The price may be at most what the task has to give. */
export function decidePrice(task: TaskRecord, priceCents: number): void {
  if (priceCents > task.maxBudgetCents) {
    throw new ApiError("price_above_budget", {
      message: `The price is above the task's maximum budget of ${task.maxBudgetCents} cents.`,
    });
  }
}

const HOUR_MS = 3_600_000;

export function deliveryDueAt(awardedAt: Date, etaHours: number): Date {
  return new Date(awardedAt.getTime() + etaHours * HOUR_MS);
}

export function acceptanceDeadlineAt(deliveredAt: Date, acceptanceWindowSeconds: number): Date {
  return new Date(deliveredAt.getTime() + acceptanceWindowSeconds * 1000);
}
