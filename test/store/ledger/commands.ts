/** Random commands: what fast-check generates and shrinks, and how it becomes a command about existing records. */
import fc from "fast-check";
import { agreementKinds } from "../../../server/schemas/agreement.ts";
import { resolutions } from "../../../server/schemas/dispute.ts";
import {
  type Command,
  type Decision,
  type Model,
  type ModelBid,
  type ModelTask,
  payoutNews,
  REVISIONS,
} from "./model.ts";

/** Source: docs/contract.md "Limits". */
const MIN_PAYOUT_CENTS = 1_000;
/** The id of no task, bid or dispute. */
const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";

/** Commands that advance a task are more frequent, so that sequences get somewhere. */
const weights: Record<Command["kind"], number> = {
  topUp: 2,
  repeatTopUp: 1,
  refund: 1,
  chargeback: 1,
  payOut: 2,
  payoutNews: 2,
  post: 4,
  editBudget: 3,
  cancel: 2,
  bid: 4,
  editBid: 2,
  withdraw: 1,
  award: 3,
  deliver: 4,
  accept: 4,
  autoAccept: 3,
  judge: 4,
  expire: 3,
  dispute: 4,
  resolve: 8,
  requestChanges: 4,
  declineChanges: 2,
  endRound: 2,
  giveBack: 1,
  propose: 5,
  answer: 5,
  lapseAgreement: 1,
  passHours: 3,
  repeat: 4,
};
/** Prerequisites: a command about something that does not exist yet is replaced by the one that creates it. */
const before: Partial<Record<Command["kind"], Command["kind"]>> = {
  requestChanges: "deliver",
  declineChanges: "requestChanges",
  endRound: "requestChanges",
  giveBack: "award",
  propose: "award",
  answer: "propose",
  lapseAgreement: "propose",
  accept: "deliver",
  autoAccept: "deliver",
  judge: "deliver",
  resolve: "dispute",
  dispute: "deliver",
  expire: "award",
  deliver: "award",
  award: "bid",
  editBid: "bid",
  withdraw: "bid",
  bid: "post",
  editBudget: "post",
  cancel: "post",
  post: "topUp",
  repeat: "post",
  repeatTopUp: "topUp",
  refund: "topUp",
  chargeback: "topUp",
  payoutNews: "payOut",
  payOut: "topUp",
};
const kinds = Object.entries(weights).flatMap(([kind, weight]) =>
  Array<string>(weight).fill(kind),
) as Command["kind"][];

/** A wish: `actor`, `which` and `other` choose among the records that exist when it is its turn. */
export interface Wish {
  kind: Command["kind"];
  actor: number;
  which: number;
  other: number;
  cents: number;
  /** True: by the right person, about a suitable record; false: by anyone about anything. */
  aimed: boolean;
  /** Whether an agent asks and its user approves, if the command may have to be approved. */
  asks: boolean;
}

export const wish: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constantFrom(...kinds),
  actor: fc.nat(1000),
  which: fc.nat(1000),
  other: fc.nat(1000),
  cents: fc.integer({ min: 100, max: 3_000 }),
  aimed: fc.integer({ min: 0, max: 9 }).map((number) => number < 8),
  asks: fc.boolean(),
});

const one: Omit<Wish, "kind"> = { actor: 0, which: 0, other: 0, cents: 1_000, aimed: true, asks: false };
const round = ["deliver", "requestChanges"] as const;
/** A task whose rounds of changes are used up, and one more request: too long a way for chance in a short run. */
export const usedUpRounds: Wish[] = [
  ...(["topUp", "post", "bid", "award"] as const),
  ...Array.from({ length: REVISIONS + 1 }, () => round).flat(),
].map((kind) => ({ ...one, kind, ...(kind === "bid" && { actor: 1 }) }));

function at<Item>(items: readonly Item[], index: number): Item | null {
  return items[index % items.length] ?? null;
}

/** The command that a wish stands for at this moment. */
export function commandOf(wish: Wish, model: Model, users: readonly string[]): Command {
  const command = findCommand(wish, model, users);
  if (command !== null) return !wish.aimed && wish.other % 6 === 0 ? aboutNothing(command) : command;
  const kind = before[wish.kind];
  if (kind === undefined) throw new Error(`a ${wish.kind} needs nothing before it`);
  return commandOf({ ...wish, kind }, model, users);
}

/** The same command about a record that does not exist. */
function aboutNothing(command: Command): Command {
  if ("bid" in command) return { ...command, bid: UNKNOWN_ID };
  if ("task" in command) return { ...command, task: UNKNOWN_ID };
  if ("agreement" in command) return { ...command, agreement: UNKNOWN_ID };
  return "dispute" in command ? { ...command, dispute: UNKNOWN_ID } : command;
}

/** Mostly a valid share, including the smallest and the largest of a split; otherwise any share with any resolution. */
function decisionOf({ aimed, which, other, cents }: Wish, price: number): Decision {
  const resolution = at(resolutions, other) ?? "refund";
  if (!aimed || cents % 5 === 0) {
    const bidderCents = at([undefined, 0, 1, price - 1, price, cents], which) ?? undefined;
    return { resolution, ...(bidderCents !== undefined && { bidderCents }) };
  }
  if (resolution !== "split") return { resolution };
  if (price === 1) return { resolution: "release" };
  return { resolution, bidderCents: at([1, price - 1, 1 + (cents % (price - 1))], which) ?? 1 };
}

/** Null if no record fits the wish. */
function findCommand(wish: Wish, model: Model, users: readonly string[]): Command | null {
  const { kind, cents, aimed, which, other } = wish;
  const anyone = at(users, wish.actor) ?? "";
  const taskWhere = (fits: (task: ModelTask) => boolean) => {
    const tasks = [...model.tasks.values()];
    return at(aimed ? tasks.filter(fits) : tasks, which);
  };
  const bidWhere = (fits: (bid: ModelBid) => boolean) => {
    const bids = [...model.bids.values()];
    return at(aimed ? bids.filter(fits) : bids, which);
  };
  const isOpen = (task: ModelTask) => task.status === "open";
  const by = (right: string) => (aimed ? right : anyone);

  switch (kind) {
    case "topUp":
      return { kind, user: anyone, amount: cents * 5 };
    case "repeatTopUp": {
      const topup = at(model.topups, which);
      return topup && { kind, topup };
    }
    case "refund": {
      const topup = at(model.topups, which);
      return topup && { kind, topup, half: other % 2 === 0, failed: other % 3 === 0 };
    }
    case "chargeback": {
      const topup = at(model.topups, which);
      return topup && { kind, topup, reinstated: other % 2 === 0 };
    }
    case "payOut": {
      const amount = Math.max(MIN_PAYOUT_CENTS, cents);
      const able = users.filter((user) => model.payees.has(user) && model.wallet(user).available >= amount);
      const user = at(aimed ? able : users, wish.actor);
      return user === null ? null : { kind, user, amount };
    }
    case "payoutNews": {
      const payout = at([...model.payouts.values()], which);
      return payout && { kind, payout, news: payoutNews[other % payoutNews.length] ?? "payout.paid" };
    }
    case "post": {
      const solvent = users.filter((user) => model.wallet(user).available >= cents);
      const user = at(aimed ? solvent : users, wish.actor);
      return user === null ? null : { kind, user, budget: cents };
    }
    case "editBudget": {
      // Sometimes it has bids, which lock the budget.
      const isEditable = (task: ModelTask) =>
        isOpen(task) && (other % 4 === 0 || model.bidsOf(task.id).every((bid) => bid.status !== "active"));
      const task = taskWhere(isEditable);
      return task && { kind, user: by(task.buyer), task: task.id, budget: cents };
    }
    case "cancel": {
      const task = taskWhere(isOpen);
      return task && { kind, user: by(task.buyer), task: task.id };
    }
    case "bid": {
      const task = taskWhere(isOpen);
      const others = users.filter((user) => user !== task?.buyer);
      const user = (aimed ? at(others, wish.actor) : null) ?? anyone;
      return task && { kind, user, task: task.id, price: aimed ? 1 + (cents % task.budget) : cents };
    }
    case "editBid": {
      const bid = bidWhere(({ status }) => status === "active");
      return bid && { kind, user: by(bid.bidder), bid: bid.id, price: cents };
    }
    case "withdraw": {
      const bid = bidWhere(({ status }) => status === "active");
      return bid && { kind, user: by(bid.bidder), bid: bid.id };
    }
    case "award": {
      // Sometimes the bid is withdrawn or for another task.
      const bid = bidWhere(({ status }) => status === "active" || other % 8 === 0);
      const task = aimed && bid && other % 8 !== 1 ? model.tasks.get(bid.task) : taskWhere(isOpen);
      return bid && task ? { kind, user: by(task.buyer), task: task.id, bid: bid.id } : null;
    }
    case "deliver": {
      const isDue = (task: ModelTask | undefined) => task?.status === "awarded" && !model.isPastDeadline(task);
      const bid = bidWhere(({ task, status }) => status === "awarded" && isDue(model.tasks.get(task)));
      return bid && { kind, user: by(bid.bidder), bid: bid.id };
    }
    case "accept": {
      const task = taskWhere(({ status }) => status === "delivered");
      return task && { kind, user: by(task.buyer), task: task.id };
    }
    case "judge": {
      const task = taskWhere(({ delivered, judged }) => delivered && !judged);
      return task && { kind, task: task.id };
    }
    case "autoAccept": {
      const task = taskWhere(({ status }) => status === "delivered");
      return task && { kind, task: task.id };
    }
    case "expire": {
      const awarded = (task: ModelTask) => task.status === "awarded";
      const task = taskWhere((one) => awarded(one) && model.isPastDeadline(one)) ?? taskWhere(awarded);
      return task && { kind, task: task.id };
    }
    case "dispute": {
      // Sometimes it exists already.
      const task = taskWhere(({ status }) => status === "delivered" || (status === "disputed" && other % 4 === 0));
      const parties = task && [task.buyer, model.awardedBidOf(task)?.bidder ?? anyone];
      return task && { kind, user: by(at(parties ?? [], wish.actor) ?? anyone), task: task.id };
    }
    case "resolve": {
      const disputes = [...model.disputes.values()];
      const dispute = at(aimed ? disputes.filter(({ shares }) => shares === null) : disputes, which);
      const task = dispute && model.tasks.get(dispute.task);
      const bid = task && model.awardedBidOf(task);
      if (!dispute || !task || !bid) return null;
      const others = [...model.moderators].filter((user) => !model.isInvolved(user, task));
      const user = (aimed ? at(others, wish.actor) : at([...model.moderators, anyone], wish.actor)) ?? anyone;
      return { kind, user, dispute: dispute.id, decision: decisionOf(wish, bid.price) };
    }
    case "requestChanges": {
      const task = taskWhere(
        (one) => model.seen(one).status === "delivered" && (one.rounds < REVISIONS || other % 3 === 0),
      );
      return task && { kind, user: by(task.buyer), task: task.id };
    }
    case "declineChanges":
    case "endRound": {
      const task = taskWhere(({ status, delivered }) => status === "awarded" && delivered);
      if (kind === "endRound") return task && { kind, task: task.id };
      return task && { kind, user: by(model.awardedBidOf(task)?.bidder ?? anyone), task: task.id };
    }
    case "giveBack": {
      const bid = bidWhere(({ task, status }) => status === "awarded" && model.tasks.get(task)?.status === "awarded");
      return bid && { kind, user: by(bid.bidder), bid: bid.id };
    }
    case "propose": {
      const task = taskWhere(({ status }) => ["awarded", "delivered", "disputed"].includes(status));
      const bid = task && model.awardedBidOf(task);
      if (!task || !bid) return null;
      const agreement = at(agreementKinds, other) ?? "cancel";
      // Half an hour more, because other due times are at full hours.
      const value = agreement === "extend" ? 0.5 + (cents % 60) : aimed ? cents % (bid.price + 1) : cents;
      return { kind, user: by(at([task.buyer, bid.bidder], wish.actor) ?? anyone), task: task.id, agreement, value };
    }
    case "answer":
    case "lapseAgreement": {
      const agreements = [...model.agreements.values()];
      const agreement = at(aimed ? agreements.filter(({ status }) => status === "pending") : agreements, which);
      const task = agreement && model.tasks.get(agreement.task);
      if (!agreement || !task) return null;
      if (kind === "lapseAgreement") return { kind, agreement: agreement.id };
      const answer = at(["accept", "accept", "accept", "decline", "withdraw"] as const, other) ?? "accept";
      const isBuyers = (agreement.by === "buyer") === (answer === "withdraw");
      const right = isBuyers ? task.buyer : (model.awardedBidOf(task)?.bidder ?? anyone);
      return { kind, user: by(right), agreement: agreement.id, answer };
    }
    case "passHours":
      return { kind, hours: 1 + (cents % 60) };
    case "repeat": {
      const answered = at(model.answered, which);
      return answered && { kind, of: answered.command, createdId: answered.createdId, changed: !aimed };
    }
  }
}
