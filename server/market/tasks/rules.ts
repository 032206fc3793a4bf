import { ApiError } from "../../errors.ts";
import { timestampOf } from "../../schemas/common.ts";
import type { TaskStatus } from "../../schemas/task.ts";
import type { TaskRecord } from "./records.ts";
import {
  type AllowedAction,
  decide,
  type RefusedAction,
  type TaskAction,
  type TaskActor,
  type Transition,
  taskTransitions,
} from "./stateMachine.ts";

/** The current time, and the settings that a task's deadlines depend on. */
export interface Moment {
  now: Date;
  /** An awarded task expires this long after its delivery is due. */
  graceSeconds: number;
  /** How long the buyer has to accept or dispute a delivery. */
  windowSeconds: number;
}

/** Returns the current moment by the service's clock and settings. */
export function momentOf({ clock, settings }: MomentSource): Moment {
  const { deliveryGraceSeconds, acceptanceWindowSeconds } = settings;
  return { now: clock.now(), graceSeconds: deliveryGraceSeconds, windowSeconds: acceptanceWindowSeconds };
}

export interface MomentSource {
  readonly clock: { now(): Date };
  readonly settings: { readonly deliveryGraceSeconds: number; readonly acceptanceWindowSeconds: number };
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

/**
 * Decides whether `actor` may do this to the task now. Returns the status it leads to, or why it is refused. A round of
 * changes whose time is over has ended for everybody, whether or not a job has recorded that.
 */
export function decideTaskAction(
  action: TaskAction,
  task: TaskRecord,
  actor: TaskActor,
  moment: Moment,
): AllowedAction | RefusedAction {
  return decideAsStored(action, action === "endRound" ? task : taskAt(task, moment), actor, moment);
}

function decideAsStored(
  action: TaskAction,
  task: TaskRecord,
  actor: TaskActor,
  moment: Moment,
): AllowedAction | RefusedAction {
  const decision = decide(action, task.status, actor);
  if (decision.refused !== null) return decision;
  const { deadline, inRound, onChecks, usesRevision } = decision;
  if (inRound !== undefined && inRound !== isInRound(task)) return { refused: "wrong_status", because: "round" };
  if (deadline !== undefined && (deadline === "after") !== isPast(deadlineOf(task, moment), moment)) {
    return { refused: "wrong_status", because: "deadline" };
  }
  if (onChecks !== undefined && onChecks !== isAcceptedByChecks(task))
    return { refused: "wrong_status", because: "checks" };
  const noneLeft = usesRevision && task.revisionsUsed >= task.revisions;
  return noneLeft ? { refused: "no_revisions_left", because: "revisions" } : decision;
}

/** What says how long a task has been waiting, and for what. */
type Waiting = Pick<TaskRecord, "status" | "deliveredAt" | "deliveryDueAt" | "acceptanceDeadlineAt" | "acceptsAt">;

/** Whether the buyer has asked for changes to a delivery, which stands until there is another. */
export const isInRound = ({ status, deliveredAt }: Pick<Waiting, "status" | "deliveredAt">): boolean =>
  status === "awarded" && deliveredAt !== null;

/** Whether the checks of the delivery accept it, at a time in its window. */
export const isAcceptedByChecks = ({ acceptsAt = null }: Pick<Waiting, "acceptsAt">): boolean => acceptsAt !== null;

/** Whether the task is in a round of changes whose time is over. */
export const isRoundOver = (task: Waiting, moment: Moment): boolean =>
  decide("endRound", task.status, "clock").refused === null &&
  isInRound(task) &&
  isPast(deadlineOf(task, moment), moment);

/**
 * The task as it is at this moment: from the end of a round of changes on, its earlier delivery stands again. Everything that
 * shows a task or decides about it goes by this.
 */
export function taskAt<Task extends Waiting>(task: Task, moment: Moment): Task {
  if (!isRoundOver(task, moment)) return task;
  const endedAt = deadlineOf(task, moment) ?? moment.now;
  const acceptanceDeadlineAt = timestampOf(acceptanceDeadlineOf(endedAt, moment));
  return { ...task, status: taskTransitions.endRound.to, acceptanceDeadlineAt, acceptsAt: null, changes: null };
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
  const message = explain(action, taskAt(task, moment), decision);
  throw new ApiError(decision.refused, message === null ? {} : { message });
}

const actorRefusals: Partial<Record<TaskAction, string>> = {
  placeBid: "You cannot bid on your own task.",
  ask: "You cannot ask about your own task.",
  uploadSample: "This is not your bid.",
  deliver: "This is not your bid.",
  dispute: "Only the buyer and the awarded bidder may do this.",
  rate: "Only the buyer and the awarded bidder may do this.",
  declineChanges: "This is not your bid.",
  giveBack: "This is not your bid.",
  extend: "Only the buyer and the awarded bidder may do this.",
  cancelTogether: "Only the buyer and the awarded bidder may do this.",
  settle: "Only the buyer and the awarded bidder may do this.",
  settleDispute: "Only the buyer and the awarded bidder may do this.",
  resolve: "A moderator may not resolve a dispute about a task that they posted or have bid on.",
};

const deadlineRefusals: Partial<Record<TaskStatus, string>> = {
  awarded: "The time for the delivery has passed: the task expires.",
  delivered: "The time to decide has passed: the delivery is accepted automatically.",
};

/** The message of a refusal; null to use the message from the catalogue of errors. */
function explain(action: TaskAction, task: TaskRecord, { refused, because }: RefusedAction): string | null {
  const transition: Transition = taskTransitions[action];
  if (refused === "already_disputed" || refused === "no_revisions_left") return null;
  if (refused === "forbidden") return actorRefusals[action] ?? "Only the buyer may do this.";
  switch (because) {
    case "actor":
      return "This bid was not awarded.";
    case "round":
      return transition.inRound ? "Nobody has asked for changes." : "There is a delivery already, which stands.";
    case "checks":
      return "The checks do not accept this delivery.";
    case "deadline":
      return (transition.deadline === "before" && deadlineRefusals[task.status]) || "The deadline has not passed yet.";
    default: {
      // Another moderator may have resolved a dispute, and otherwise; and a task comes back to a status in a round of changes.
      const isDone = task.status === transition.to && action !== "resolve" && !transition.inRound;
      if (isDone && action !== "requestChanges") {
        const toBid = action === "award" ? ` to the bid ${task.awardedBidId}` : "";
        return `This has been done already: the task is ${task.status}${toBid}.`;
      }
      return `The task is ${task.status}; it must be ${transition.from.join(" or ")} for this.`;
    }
  }
}

/**
 * When the task's wait in its status is over, and the clock moves it: an awarded task expires some time after its delivery is
 * due, a round of changes ends when they are due, a delivery counts as accepted at the end of its window, or before it because
 * of its checks. Null in other statuses.
 */
export function deadlineOf(task: Waiting, { graceSeconds }: Pick<Moment, "graceSeconds">): Date | null {
  const { status, deliveryDueAt, acceptanceDeadlineAt, acceptsAt = null } = task;
  const acceptedFrom = acceptsAt ?? acceptanceDeadlineAt;
  if (status === "delivered" && acceptedFrom !== null) return new Date(acceptedFrom);
  if (status !== "awarded" || deliveryDueAt === null) return null;
  return new Date(Date.parse(deliveryDueAt) + (isInRound(task) ? 0 : graceSeconds * 1000));
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

/** The end of the window in which a delivery that stands since then can be accepted or disputed. */
export function acceptanceDeadlineOf(standsSince: Date, { windowSeconds }: Pick<Moment, "windowSeconds">): Date {
  return new Date(standsSince.getTime() + windowSeconds * 1000);
}
