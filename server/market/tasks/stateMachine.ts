import type { LogEventType } from "../../schemas/event.ts";
import type { ClosedBecause, TaskStatus } from "../../schemas/task.ts";
import { movements } from "./movements.ts";

/**
 * Who acts on a task. A `bidder` has a bid on it that was not awarded; a `stranger` is any other user. A moderator who
 * is a party to the task acts as that party. The `clock` is a background job that acts when a deadline has passed, `checks` one that
 * acts when the checks of a delivery have passed.
 */
export const taskActors = ["buyer", "awardedBidder", "bidder", "stranger", "moderator", "clock", "checks"] as const;
export type TaskActor = (typeof taskActors)[number];

type RefusalCode = "forbidden" | "wrong_status" | "already_disputed" | "no_revisions_left";

export interface Transition {
  /** Who may do this; anyone else is refused with `forbidden`, unless `refusals` names another code. */
  by: readonly TaskActor[];
  from: readonly TaskStatus[];
  /** `same`: the status does not change. */
  to: TaskStatus | "same";
  /**
   * Allowed only before the deadline that the task has in this status (`deadlineOf`), or only from it on. What happens after
   * it counts from the deadline, however late it happens.
   */
  deadline?: "before" | "after";
  /** Of an awarded task: allowed only in a round of changes, while an earlier delivery stands, or only outside of one. */
  inRound?: boolean;
  /** Of a delivered task: allowed only if its checks accept it, or only if they do not. */
  onChecks?: boolean;
  /** Allowed as often as the task has revisions. */
  usesRevision?: true;
  money: keyof typeof movements;
  /** The task's bids that are still active are rejected. */
  rejectsBids?: true;
  /** Which time of the task this is, besides the end of it. */
  setsTime?: "awarded_at" | "delivered_at";
  /** Why the task ends, if the status does not say it. */
  closedBecause?: ClosedBecause;
  /** The event that is recorded. Those that reject bids also record `bid.rejected` for each. */
  event: LogEventType;
  /** Another event about the same move. */
  alsoEvent?: LogEventType;
  refusals?: {
    by?: Partial<Record<TaskActor, RefusalCode>>;
    from?: Partial<Record<TaskStatus, RefusalCode>>;
  };
}

/**
 * The state machine of a task: every move of the parties, a moderator, the clock and checks. `moveTask` follows it, the README's
 * diagram is drawn from it, and a test covers every combination. Source: docs/contract.md "States".
 */
export const taskTransitions = {
  update: { by: ["buyer"], from: ["open"], to: "same", money: "budget", event: "task.updated" },
  changeFiles: { by: ["buyer"], from: ["open"], to: "same", money: "none", event: "task.updated" },
  cancel: {
    by: ["buyer"],
    from: ["open"],
    to: "cancelled",
    money: "returnBudget",
    rejectsBids: true,
    closedBecause: "cancelled",
    event: "task.cancelled",
  },
  placeBid: {
    by: ["stranger", "bidder", "awardedBidder", "moderator"],
    from: ["open"],
    to: "same",
    money: "none",
    event: "bid.received",
  },
  ask: {
    by: ["stranger", "bidder", "awardedBidder", "moderator"],
    from: ["open"],
    to: "same",
    money: "none",
    event: "question.asked",
  },
  answer: { by: ["buyer"], from: ["open"], to: "same", money: "none", event: "question.answered" },
  award: {
    by: ["buyer"],
    from: ["open"],
    to: "awarded",
    money: "returnRest",
    rejectsBids: true,
    setsTime: "awarded_at",
    event: "task.awarded",
  },
  uploadSample: {
    by: ["awardedBidder"],
    from: ["awarded"],
    to: "same",
    deadline: "before",
    money: "none",
    event: "sample.posted",
    // The owner of a bid that was not awarded may upload for it in principle, but the bid is in the wrong status.
    refusals: { by: { bidder: "wrong_status" } },
  },
  deliver: {
    by: ["awardedBidder"],
    from: ["awarded"],
    to: "delivered",
    deadline: "before",
    money: "none",
    setsTime: "delivered_at",
    event: "delivery.posted",
    refusals: { by: { bidder: "wrong_status" } },
  },
  expire: {
    by: ["clock"],
    from: ["awarded"],
    to: "expired",
    deadline: "after",
    inRound: false,
    money: "returnPrice",
    event: "task.expired",
  },
  giveBack: {
    by: ["awardedBidder"],
    from: ["awarded"],
    to: "cancelled",
    deadline: "before",
    inRound: false,
    money: "returnPrice",
    closedBecause: "given_back",
    event: "task.cancelled",
    refusals: { by: { bidder: "wrong_status" } },
  },
  // What both sides agree on: one proposes it, and the other accepts, which is the move. Either may propose while it is possible.
  extend: {
    by: ["buyer", "awardedBidder"],
    from: ["awarded"],
    to: "same",
    deadline: "before",
    money: "none",
    event: "agreement.ended",
  },
  cancelTogether: {
    by: ["buyer", "awardedBidder"],
    from: ["awarded", "delivered"],
    to: "cancelled",
    deadline: "before",
    money: "returnPrice",
    closedBecause: "agreed",
    event: "task.cancelled",
  },
  settle: {
    by: ["buyer", "awardedBidder"],
    from: ["awarded", "delivered"],
    to: "resolved",
    deadline: "before",
    money: "divideAsAgreed",
    closedBecause: "agreed",
    event: "task.settled",
  },
  settleDispute: {
    by: ["buyer", "awardedBidder"],
    from: ["disputed"],
    to: "resolved",
    money: "divideAsAgreed",
    closedBecause: "agreed",
    event: "task.dispute_resolved",
    alsoEvent: "task.settled",
  },
  accept: {
    by: ["buyer"],
    from: ["delivered"],
    to: "accepted",
    deadline: "before",
    money: "pay",
    event: "task.accepted",
  },
  report: {
    by: ["buyer"],
    from: ["delivered"],
    to: "same",
    deadline: "before",
    money: "none",
    event: "delivery.checked",
  },
  setCheckKey: {
    by: ["buyer"],
    from: ["open", "awarded", "delivered"],
    to: "same",
    money: "none",
    event: "task.updated",
  },
  acceptOnChecks: {
    by: ["checks"],
    from: ["delivered"],
    to: "accepted",
    deadline: "after",
    onChecks: true,
    money: "pay",
    event: "task.accepted",
  },
  release: {
    by: ["clock"],
    from: ["delivered"],
    to: "accepted",
    deadline: "after",
    onChecks: false,
    money: "pay",
    event: "task.accepted",
  },
  requestChanges: {
    by: ["buyer"],
    from: ["delivered"],
    to: "awarded",
    deadline: "before",
    usesRevision: true,
    money: "none",
    event: "task.changes_requested",
  },
  declineChanges: {
    by: ["awardedBidder"],
    from: ["awarded"],
    to: "delivered",
    deadline: "before",
    inRound: true,
    money: "none",
    event: "task.changes_declined",
  },
  endRound: {
    by: ["clock"],
    from: ["awarded"],
    to: "delivered",
    deadline: "after",
    inRound: true,
    money: "none",
    event: "task.changes_declined",
  },
  dispute: {
    by: ["buyer", "awardedBidder"],
    from: ["delivered"],
    to: "disputed",
    deadline: "before",
    money: "none",
    event: "task.disputed",
    refusals: { from: { disputed: "already_disputed" } },
  },
  resolve: {
    by: ["moderator"],
    from: ["disputed"],
    to: "resolved",
    money: "divide",
    event: "task.dispute_resolved",
  },
  rate: {
    by: ["buyer", "awardedBidder"],
    from: ["accepted", "resolved"],
    to: "same",
    money: "none",
    event: "rating.posted",
  },
} as const satisfies Record<string, Transition>;

export type TaskAction = keyof typeof taskTransitions;
export const taskActions = Object.keys(taskTransitions) as TaskAction[]; // the keys of a literal are its type's keys

/** An action that the table allows, with the status it leads to. */
export interface AllowedAction extends Omit<Transition, "by" | "from" | "to" | "refusals"> {
  refused: null;
  to: TaskStatus;
}

export interface RefusedAction {
  refused: RefusalCode;
  because: "actor" | "status" | "round" | "deadline" | "checks" | "revisions";
}

/**
 * Looks an action up in the table: where it leads, or why it is refused. The actor is checked before the status.
 * The rest is checked by `decideTaskAction`, which knows the task.
 */
export function decide(action: TaskAction, status: TaskStatus, actor: TaskActor): AllowedAction | RefusedAction {
  const { by, from, to, refusals, ...rest }: Transition = taskTransitions[action];
  if (!by.includes(actor)) return { refused: refusals?.by?.[actor] ?? "forbidden", because: "actor" };
  if (!from.includes(status)) return { refused: refusals?.from?.[status] ?? "wrong_status", because: "status" };
  return { refused: null, to: to === "same" ? status : to, ...rest };
}

/** The table as a Mermaid state diagram, for the documentation. */
export function stateDiagram(): string {
  const transitions: [string, Transition][] = Object.entries(taskTransitions);
  const arrows = transitions
    .filter(([, { to }]) => to !== "same")
    .flatMap(([action, { from, to, money }]) => {
      const { label } = movements[money];
      return from.map((status) => `  ${status} --> ${to}: ${action}${label && ` (${label})`}`);
    });
  const sources = new Set(transitions.filter(([, { to }]) => to !== "same").flatMap(([, { from }]) => from));
  const ends = new Set(transitions.map(([, { to }]) => to).filter((to) => to !== "same" && !sources.has(to)));
  return [
    "stateDiagram-v2",
    "  [*] --> open: create (the budget is held)",
    ...arrows,
    ...[...ends].map((status) => `  ${status} --> [*]`),
  ].join("\n");
}
