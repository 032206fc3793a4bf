import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";
import { decideBid } from "../bids/rules.ts";
import type { TaskRecord } from "./records.ts";
import { decide, type RefusalCode, type TaskAction, type TaskActor, taskTransitions } from "./stateMachine.ts";

/** What a user is to a task. `hasBid` matters for those whose bid was not awarded. */
export function actorOf(task: TaskRecord, userId: string, { hasBid = false } = {}): TaskActor {
  if (task.buyerId === userId) return "buyer";
  if (task.awardedBidderId === userId) return "awardedBidder";
  return hasBid ? "bidder" : "stranger";
}

const refusals: Partial<Record<TaskAction, string>> = {
  placeBid: "You cannot bid on your own task.",
  uploadSample: "This is not your bid.",
  deliver: "This is not your bid.",
  dispute: "Only the buyer and the awarded bidder may do this.",
  rate: "Only the buyer and the awarded bidder may do this.",
  resolve: "A moderator may not decide about a task of their own.",
};

function explain(action: TaskAction, task: TaskRecord, code: RefusalCode, because: "actor" | "status"): string | null {
  if (code === "already_disputed") return null;
  if (code === "forbidden") return refusals[action] ?? "Only the buyer may do this.";
  if (because === "actor") return "This bid is not the awarded one.";
  return `The task is ${task.status}; this needs it to be ${taskTransitions[action].from.join(" or ")}.`;
}

/** Throws what the table says when this actor may not do this to the task as it is. */
export function decideTaskAction(action: TaskAction, task: TaskRecord, actor: TaskActor): void {
  const decision = decide(action, task.status, actor);
  if (decision.refused === null) return;
  const message = explain(action, task, decision.refused, decision.because);
  throw new ApiError(decision.refused, message === null ? {} : { message });
}

/**
 * A bid's owner uploads for it, once it is the awarded one and as long as the task has not expired. Judged by the
 * clock: after the grace the money counts as returned, whenever the sweep comes round.
 */
export function decideUpload(
  action: "uploadSample" | "deliver",
  task: TaskRecord,
  bid: Bid,
  userId: string,
  { now, graceSeconds }: { now: Date; graceSeconds: number },
): void {
  const ownsBid = bid.bidder.id === userId;
  const actor = ownsBid ? (task.awardedBidId === bid.id ? "awardedBidder" : "bidder") : "stranger";
  decideTaskAction(action, task, actor);
  if (isPastGrace(task, now, graceSeconds)) {
    throw new ApiError("wrong_status", { message: "The time for the delivery has passed: the task expires." });
  }
}

/** Accepting and disputing are judged by the clock: once the window has passed the delivery counts as accepted. */
export function decideInWindow(action: "accept" | "dispute", task: TaskRecord, userId: string, now: Date): void {
  decideTaskAction(action, task, actorOf(task, userId));
  if (isPastAcceptance(task, now)) {
    throw new ApiError("wrong_status", {
      message: "The acceptance window has passed: the task is accepted by itself.",
    });
  }
}

export function isPastAcceptance(task: TaskRecord, now: Date): boolean {
  return task.acceptanceDeadlineAt !== null && now >= new Date(task.acceptanceDeadlineAt);
}

/** When an awarded task without a delivery expires, or null when it was never awarded. */
export function expiresAt(task: Pick<TaskRecord, "deliveryDueAt">, graceSeconds: number): Date | null {
  return task.deliveryDueAt === null ? null : new Date(Date.parse(task.deliveryDueAt) + graceSeconds * 1000);
}

export function isPastGrace(task: TaskRecord, now: Date, graceSeconds: number): boolean {
  const at = expiresAt(task, graceSeconds);
  return at !== null && now >= at;
}

/** Award needs a bid that is active and belongs to this task. */
export function decideAward(task: TaskRecord, bid: Bid | null, userId: string): asserts bid is Bid {
  decideTaskAction("award", task, actorOf(task, userId));
  if (bid === null || bid.taskId !== task.id) throw new ApiError("bid_invalid");
  const decision = decideBid("award", bid.status, "buyer");
  if (decision.refused !== null) throw new ApiError(decision.refused);
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
