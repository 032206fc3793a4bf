import type { EventType, InternalEventType } from "../../schemas/event.ts";
import type { TaskStatus } from "../../schemas/task.ts";

/**
 * Who acts on a task. A `bidder` has a bid on it that was not awarded; a `stranger` is any other user. A moderator who
 * is a party to the task acts as that party.
 */
export const taskActors = ["buyer", "awardedBidder", "bidder", "stranger", "moderator", "clock"] as const;
export type TaskActor = (typeof taskActors)[number];

export type RefusalCode = "forbidden" | "wrong_status" | "already_disputed";

/** The money of a transition, in cents. Before an award all of the budget is held, afterwards the bid's price. */
export interface Amounts {
  budgetCents: number;
  priceCents: number;
  /** What a moderator gives the bidder, of the price. */
  bidderCents: number;
}

/** How the hold changes: what returns to the buyer's available bucket, and what is paid to the bidder. */
interface Movement {
  /** For the documentation. */
  says: string;
  returnKind: "hold_release" | "dispute_refund";
  returned(amounts: Amounts): number;
  paid(amounts: Amounts): number;
}

const nothing = () => 0;

export const movements = {
  none: { says: "", returnKind: "hold_release", returned: nothing, paid: nothing },
  budget: {
    says: "the hold follows the budget",
    returnKind: "hold_release",
    returned: nothing, // tasks.update moves the difference between two budgets
    paid: nothing,
  },
  returnBudget: {
    says: "the hold returns",
    returnKind: "hold_release",
    returned: ({ budgetCents }) => budgetCents,
    paid: nothing,
  },
  returnRest: {
    says: "the hold shrinks to the price",
    returnKind: "hold_release",
    returned: ({ budgetCents, priceCents }) => budgetCents - priceCents,
    paid: nothing,
  },
  returnPrice: {
    says: "the hold returns",
    returnKind: "hold_release",
    returned: ({ priceCents }) => priceCents,
    paid: nothing,
  },
  pay: {
    says: "the bidder is paid",
    returnKind: "hold_release",
    returned: nothing,
    paid: ({ priceCents }) => priceCents,
  },
  divide: {
    says: "refund, release or split",
    returnKind: "dispute_refund",
    returned: ({ priceCents, bidderCents }) => priceCents - bidderCents,
    paid: ({ bidderCents }) => bidderCents,
  },
} as const satisfies Record<string, Movement>;

interface Transition {
  /** Who may; anyone else is refused with `forbidden`, or as `refusals` says. */
  by: readonly TaskActor[];
  from: readonly TaskStatus[];
  /** `same`: the status stays. */
  to: TaskStatus | "same";
  money: keyof typeof movements;
  /** What subscribers are told; null: nothing. `task.expired` is recorded, but is no event of the webhooks. */
  event: EventType | InternalEventType | null;
  refusals?: {
    by?: Partial<Record<TaskActor, RefusalCode>>;
    from?: Partial<Record<TaskStatus, RefusalCode>>;
  };
}

/**
 * THE state machine of a task. Procedures and jobs decide by it and move state, money and event as it says; the
 * documentation's diagram is drawn from it, and a test walks all of it. Source: decisions.md "States".
 */
export const taskTransitions = {
  update: { by: ["buyer"], from: ["open"], to: "same", money: "budget", event: null },
  cancel: { by: ["buyer"], from: ["open"], to: "cancelled", money: "returnBudget", event: null },
  placeBid: {
    by: ["stranger", "bidder", "awardedBidder", "moderator"],
    from: ["open"],
    to: "same",
    money: "none",
    event: "bid.received",
  },
  award: { by: ["buyer"], from: ["open"], to: "awarded", money: "returnRest", event: "task.awarded" },
  uploadSample: {
    by: ["awardedBidder"],
    from: ["awarded"],
    to: "same",
    money: "none",
    event: null,
    // Uploads go to a bid: its owner may, but not as long as, or if, it is not the awarded one.
    refusals: { by: { bidder: "wrong_status" } },
  },
  deliver: {
    by: ["awardedBidder"],
    from: ["awarded"],
    to: "delivered",
    money: "none",
    event: "delivery.posted",
    refusals: { by: { bidder: "wrong_status" } },
  },
  expire: { by: ["clock"], from: ["awarded"], to: "expired", money: "returnPrice", event: "task.expired" },
  accept: { by: ["buyer"], from: ["delivered"], to: "accepted", money: "pay", event: "task.accepted" },
  release: { by: ["clock"], from: ["delivered"], to: "accepted", money: "pay", event: "task.accepted" },
  dispute: {
    by: ["buyer", "awardedBidder"],
    from: ["delivered"],
    to: "disputed",
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
  rate: { by: ["buyer", "awardedBidder"], from: ["accepted", "resolved"], to: "same", money: "none", event: null },
} as const satisfies Record<string, Transition>;

export type TaskAction = keyof typeof taskTransitions;
export const taskActions = Object.keys(taskTransitions) as TaskAction[]; // the keys of a literal are its type's keys

export type Decision =
  | { refused: null; to: TaskStatus; money: keyof typeof movements; event: Transition["event"] }
  | { refused: RefusalCode; because: "actor" | "status" };

/** What the table says of an action: where it leads, or why not. Who may not is told so first. */
export function decide(action: TaskAction, status: TaskStatus, actor: TaskActor): Decision {
  const transition: Transition = taskTransitions[action];
  if (!transition.by.includes(actor)) {
    return { refused: transition.refusals?.by?.[actor] ?? "forbidden", because: "actor" };
  }
  if (!transition.from.includes(status)) {
    return { refused: transition.refusals?.from?.[status] ?? "wrong_status", because: "status" };
  }
  const { to, money, event } = transition;
  return { refused: null, to: to === "same" ? status : to, money, event };
}

/** The table as a Mermaid state diagram: what the documentation shows. */
export function stateDiagram(): string {
  const transitions: [string, Transition][] = Object.entries(taskTransitions);
  const arrows = transitions
    .filter(([, { to }]) => to !== "same")
    .flatMap(([action, { from, to, money }]) => {
      const { says } = movements[money];
      return from.map((status) => `  ${status} --> ${to}: ${action}${says && ` (${says})`}`);
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
