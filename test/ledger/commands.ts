/** Random commands: what fast-check makes up and shrinks, and how it becomes a command about what exists. */
import fc from "fast-check";
import { type Command, type Model, type ModelBid, type ModelTask, payoutNews } from "./model.ts";

/** Source: interface.md "Limits". */
const MIN_PAYOUT_CENTS = 1_000;

/** More often what takes a task further, so that sequences get somewhere. */
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
  passHours: 2,
};
/** What must come before: a command about something that does not exist yet gives way to the one that makes it. */
const before: Partial<Record<Command["kind"], Command["kind"]>> = {
  accept: "deliver",
  autoAccept: "deliver",
  deliver: "award",
  award: "bid",
  editBid: "bid",
  withdraw: "bid",
  bid: "post",
  editBudget: "post",
  cancel: "post",
  post: "topUp",
  repeatTopUp: "topUp",
  refund: "topUp",
  chargeback: "topUp",
  payoutNews: "payOut",
  payOut: "topUp",
};
const kinds = Object.entries(weights).flatMap(([kind, weight]) =>
  Array<string>(weight).fill(kind),
) as Command["kind"][];

/** A wish: `actor`, `which` and `other` choose among whatever exists when its turn comes. */
export interface Wish {
  kind: Command["kind"];
  actor: number;
  which: number;
  other: number;
  cents: number;
  /** True: by the right person, about something that it fits; false: by anyone about anything. */
  aimed: boolean;
}

export const wish: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constantFrom(...kinds),
  actor: fc.nat(1000),
  which: fc.nat(1000),
  other: fc.nat(1000),
  cents: fc.integer({ min: 100, max: 3_000 }),
  aimed: fc.integer({ min: 0, max: 9 }).map((number) => number < 8),
});

function at<Item>(items: readonly Item[], index: number): Item | null {
  return items[index % items.length] ?? null;
}

/** The command that a wish means now. */
export function commandOf(wish: Wish, model: Model, users: readonly string[]): Command {
  const command = findCommand(wish, model, users);
  if (command !== null) return command;
  const kind = before[wish.kind];
  if (kind === undefined) throw new Error(`a ${wish.kind} needs nothing before it`);
  return commandOf({ ...wish, kind }, model, users);
}

/** Null when there is nothing that the wish could be about. */
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
      const hasNoBids = (task: ModelTask) =>
        isOpen(task) && model.bidsOf(task.id).every((bid) => bid.status !== "active");
      const task = taskWhere(hasNoBids);
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
      const bid = bidWhere(({ status }) => status === "active");
      const task = aimed && bid ? model.tasks.get(bid.task) : at([...model.tasks.values()], other);
      return bid && task ? { kind, user: by(task.buyer), task: task.id, bid: bid.id } : null;
    }
    case "deliver": {
      const bid = bidWhere(({ task, status }) => status === "awarded" && model.tasks.get(task)?.status === "awarded");
      return bid && { kind, user: by(bid.bidder), bid: bid.id };
    }
    case "accept": {
      const task = taskWhere(({ status }) => status === "delivered");
      return task && { kind, user: by(task.buyer), task: task.id };
    }
    case "autoAccept": {
      const task = taskWhere(({ status }) => status === "delivered");
      return task && { kind, task: task.id };
    }
    case "passHours":
      return { kind, hours: 1 + (cents % 60) };
  }
}
