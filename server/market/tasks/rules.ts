import { ApiError } from "../../errors.ts";
import type { TaskRecord } from "./records.ts";
import {
  type AllowedAction,
  decide,
  type RefusedAction,
  type TaskAction,
  type TaskActor,
  type TaskDeadline,
  taskTransitions,
} from "./stateMachine.ts";

/** The current time, and the setting that a task's deadlines depend on. */
export interface Moment {
  now: Date;
  /** An awarded task expires this long after its delivery is due. */
  graceSeconds: number;
}

/** Returns the current moment by the service's clock and settings. */
export function momentOf({ clock, settings }: MomentSource): Moment {
  return { now: clock.now(), graceSeconds: settings.deliveryGraceSeconds };
}

interface MomentSource {
  readonly clock: { now(): Date };
  readonly settings: { readonly deliveryGraceSeconds: number };
}

/** Returns a user's role in a task. */
export function actorOf(task: TaskRecord, userId: string): TaskActor {
  if (task.buyerId === userId) return "buyer";
  return task.awardedBidderId === userId ? "awardedBidder" : "stranger";
}

/** Returns whom a moderator acts as: with any bid on the task, even a rejected or withdrawn one, they have an interest in it. */
export function moderatorActorOf(task: TaskRecord, userId: string, hasBid: boolean): TaskActor {
  const role = actorOf(task, userId);
  if (role !== "stranger") return role;
  return hasBid ? "bidder" : "moderator";
}

/**
 * Returns the role in a task of a user who uploads for `bid`: only its owner may upload, and only if it was awarded.
 */
export function uploaderOf(task: TaskRecord, bid: { id: string; bidder: { id: string } }, userId: string): TaskActor {
  if (bid.bidder.id !== userId) return "stranger";
  return task.awardedBidId === bid.id ? "awardedBidder" : "bidder";
}

/** Decides whether `actor` may do this to the task now. Returns the status it leads to, or why it is refused. */
export function decideTaskAction(
  action: TaskAction,
  task: TaskRecord,
  actor: TaskActor,
  moment: Moment,
): AllowedAction | RefusedAction {
  const decision = decide(action, task.status, actor);
  if (decision.refused !== null) return decision;
  const { before, after } = decision;
  const isTooLate = before !== undefined && isPast(deadlineOf(task, before, moment), moment);
  const isTooEarly = after !== undefined && !isPast(deadlineOf(task, after, moment), moment);
  return isTooLate || isTooEarly ? { refused: "wrong_status", because: "deadline" } : decision;
}

/** Like `decideTaskAction`, but throws a refusal as an `ApiError`. */
export function assertTaskAction(
  action: TaskAction,
  task: TaskRecord,
  actor: TaskActor,
  moment: Moment,
): AllowedAction {
  const decision = decideTaskAction(action, task, actor, moment);
  if (decision.refused === null) return decision;
  const message = explain(action, task, decision);
  throw new ApiError(decision.refused, message === null ? {} : { message });
}

const actorRefusals: Partial<Record<TaskAction, string>> = {
  placeBid: "You cannot bid on your own task.",
  ask: "You cannot ask about your own task.",
  uploadSample: "This is not your bid.",
  deliver: "This is not your bid.",
  dispute: "Only the buyer and the awarded bidder may do this.",
  rate: "Only the buyer and the awarded bidder may do this.",
  resolve: "A moderator may not resolve a dispute about a task that they posted or have bid on.",
};

const deadlineRefusals: Record<TaskDeadline, string> = {
  expiry: "The time for the delivery has passed: the task expires.",
  acceptance: "The acceptance window has passed: the delivery is accepted automatically.",
};

/** The message of a refusal; null to use the message from the catalogue of errors. */
function explain(action: TaskAction, task: TaskRecord, { refused, because }: RefusedAction): string | null {
  const transition: { from: readonly string[]; to: string; before?: TaskDeadline } = taskTransitions[action];
  if (refused === "already_disputed") return null;
  if (refused === "forbidden") return actorRefusals[action] ?? "Only the buyer may do this.";
  if (because === "actor") return "This bid was not awarded.";
  // Another moderator may have resolved a dispute, and otherwise.
  if (because === "status" && task.status === transition.to && action !== "resolve") {
    const toBid = action === "award" ? ` to the bid ${task.awardedBidId}` : "";
    return `This has been done already: the task is ${task.status}${toBid}.`;
  }
  if (because === "status") return `The task is ${task.status}; it must be ${transition.from.join(" or ")} for this.`;
  return transition.before === undefined ? "The deadline has not passed yet." : deadlineRefusals[transition.before];
}

/** When a deadline of the task passes; null before the award or the delivery that sets it. */
export function deadlineOf(
  { deliveryDueAt, acceptanceDeadlineAt }: Pick<TaskRecord, "deliveryDueAt" | "acceptanceDeadlineAt">,
  deadline: TaskDeadline,
  { graceSeconds }: Pick<Moment, "graceSeconds">,
): Date | null {
  if (deadline === "acceptance") return acceptanceDeadlineAt === null ? null : new Date(acceptanceDeadlineAt);
  return deliveryDueAt === null ? null : new Date(Date.parse(deliveryDueAt) + graceSeconds * 1000);
}

const isPast = (deadline: Date | null, { now }: Moment) => deadline !== null && now >= deadline;

/** Throws `price_above_budget`. */
export function assertPriceWithinBudget(task: TaskRecord, priceCents: number): void {
  if (priceCents > task.maxBudgetCents) {
    throw new ApiError("price_above_budget", {
      message: `The price is above the task's maximum budget of ${task.maxBudgetCents} cents.`,
    });
  }
}

const HOUR_MS = 3_600_000;

export function deliveryDueAt(awardedAt: Date, etaHours: number): Date {
  return new Date(awardedAt.getTime() + Math.round(etaHours * HOUR_MS));
}

export function acceptanceDeadlineAt(deliveredAt: Date, acceptanceWindowSeconds: number): Date {
  return new Date(deliveredAt.getTime() + acceptanceWindowSeconds * 1000);
}
