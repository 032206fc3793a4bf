/**
 * What the marketplace must do to money, written a second time as simply as possible: plain records, no database, and a
 * count of hours as the only clock. `apply` predicts a command's outcome and changes the model when it is accepted.
 */
import type { ErrorCode } from "../../../server/errors.ts";
import type { AgreementKind, AgreementStatus } from "../../../server/schemas/agreement.ts";
import type { resolutions } from "../../../server/schemas/dispute.ts";
import type { TaskStatus } from "../../../server/schemas/task.ts";

export interface ModelWallet {
  available: number;
  held: number;
  debt: number;
}

export interface ModelTask {
  id: string;
  buyer: string;
  budget: number;
  status: TaskStatus;
  awardedBid: string | null;
  /** The hour of the model at which the deadline of the next step passes: the delivery, or the acceptance. */
  deadline: number | null;
  /** Whether there is a delivery, which stands: an awarded task with one is in a round of changes. */
  delivered: boolean;
  rounds: number;
  /** Whether its checks accept what passes, which every delivery does. */
  checked: boolean;
  /** Of the delivery that counts: whether its checks have ended, and whether the buyer has asked for changes to it. */
  judged: boolean;
  changesRequested: boolean;
  /** Whether the deadline is the checks'. */
  acceptedByChecks: boolean;
  acceptedBy: "buyer" | "clock" | "checks" | null;
}

export interface ModelAgreement {
  id: string;
  task: string;
  by: "buyer" | "bidder";
  kind: AgreementKind;
  /** Of a settlement, in cents; of an extension, the hour at which the delivery is due. */
  value: number;
  expires: number;
  status: AgreementStatus;
}

export interface ModelBid {
  id: string;
  task: string;
  bidder: string;
  price: number;
  /** Frozen when the price was set. */
  fee: number;
  status: "active" | "withdrawn" | "rejected" | "awarded";
}

export interface ModelTopup {
  paymentIntent: string;
  user: string;
  amount: number;
}

export interface ModelPayout {
  id: string;
  user: string;
  amount: number;
  /** Failed permanently: the money is back in the wallet. */
  failed: boolean;
}

export interface ModelDispute {
  id: string;
  task: string;
  openedBy: "buyer" | "bidder";
  /** Each side's share of the price; null until the dispute is resolved. */
  shares: { buyer: number; bidder: number } | null;
}

/** A moderator's decision, valid or not: only a split has a share. */
export interface Decision {
  resolution: (typeof resolutions)[number];
  bidderCents?: number;
}

/** Every command that moves money or affects whether it moves. Ids are real, or belong to no record. */
export type Command =
  | { kind: "topUp"; user: string; amount: number }
  | { kind: "repeatTopUp"; topup: ModelTopup }
  | { kind: "refund"; topup: ModelTopup; half: boolean; failed: boolean }
  | { kind: "chargeback"; topup: ModelTopup; reinstated: boolean }
  | { kind: "payOut"; user: string; amount: number }
  | { kind: "payoutNews"; payout: ModelPayout; news: PayoutNews }
  | { kind: "post"; user: string; budget: number }
  | { kind: "editBudget"; user: string; task: string; budget: number }
  | { kind: "cancel"; user: string; task: string }
  | { kind: "bid"; user: string; task: string; price: number }
  | { kind: "editBid"; user: string; bid: string; price: number }
  | { kind: "withdraw"; user: string; bid: string }
  | { kind: "award"; user: string; task: string; bid: string }
  | { kind: "deliver"; user: string; bid: string }
  | { kind: "accept"; user: string; task: string }
  | { kind: "autoAccept"; task: string }
  /** A worker judges the delivery that counts. */
  | { kind: "judge"; task: string }
  | { kind: "expire"; task: string }
  | { kind: "dispute"; user: string; task: string }
  | { kind: "resolve"; user: string; dispute: string; decision: Decision }
  | { kind: "requestChanges"; user: string; task: string }
  | { kind: "declineChanges"; user: string; task: string }
  | { kind: "endRound"; task: string }
  | { kind: "giveBack"; user: string; bid: string }
  /** `value`: the bidder's share in cents, or the hours from now after which the delivery is due. */
  | { kind: "propose"; user: string; task: string; agreement: AgreementKind; value: number }
  | { kind: "answer"; user: string; agreement: string; answer: "accept" | "decline" | "withdraw" }
  | { kind: "lapseAgreement"; agreement: string }
  | { kind: "passHours"; hours: number }
  /** The same request with the same `Idempotency-Key` once more; `changed`: with other input. */
  | { kind: "repeat"; of: Request; createdId: string; changed: boolean };

/** The commands that a user sends as one request, each with a key of its own. */
export type Request = Exclude<Extract<Command, { user: string }>, { kind: "topUp" }>;
const isRequest = (command: Command): command is Request => "user" in command && command.kind !== "topUp";

/** What the processor reports about a payout. Only the first moves money: the payout's transfer was reversed. */
export const payoutNews = ["transfer.reversed", "transfer.created", "payout.paid", "payout.failed"] as const;
export type PayoutNews = (typeof payoutNews)[number];

/** The amount of half a refund, shared by the model and the real side. */
export const refundOf = (topup: ModelTopup, half: boolean) => (half ? Math.floor(topup.amount / 2) : topup.amount);

export type Outcome = "accepted" | ErrorCode;

type BidCommand = Extract<Command, { kind: "editBid" | "withdraw" | "deliver" | "giveBack" }>;
type TaskCommand = Exclude<Extract<Command, { task: string }>, { dispute: string }>;

/** The acceptance window. Source: docs/contract.md "Limits". */
export const ACCEPTANCE_HOURS = 48;
/** In these sequences: the delivery time that every bid promises, and the grace period before an awarded task expires. */
export const ETA_HOURS = 4;
export const GRACE_HOURS = 20;
/** In these sequences: the revisions of every task, the time that the buyer gives for changes, and an agreement's lifetime. */
export const REVISIONS = 2;
export const CHANGES_HOURS = 24;
export const AGREEMENT_HOURS = 30;
/** In these sequences: how long after its checks have passed a delivery is accepted, and which tasks have checks. */
export const CHECKS_HOURS = 6;
export const hasChecks = (budget: number): boolean => budget % 3 > 0;

/** In these sequences: what the platform takes of every price. Small prices meet the minimum, large ones the maximum. */
export const FEE = { basisPoints: 1_000, minCents: 40, maxCents: 300, taxBasisPoints: 1_900 } as const;

/** The fee of a whole price, or of what the bidder gets of it. */
const feeOf = (cents: number, minimum: number = FEE.minCents) =>
  Math.min(cents, FEE.maxCents, Math.max(minimum, Math.floor((cents * FEE.basisPoints) / 10_000)));

export class Model {
  readonly wallets = new Map<string, ModelWallet>();
  readonly tasks = new Map<string, ModelTask>();
  readonly bids = new Map<string, ModelBid>();
  readonly topups: ModelTopup[] = [];
  readonly payouts = new Map<string, ModelPayout>();
  readonly disputes = new Map<string, ModelDispute>();
  readonly agreements = new Map<string, ModelAgreement>();
  /** Requests that were accepted, so that their answers are kept. */
  readonly answered: { command: Request; createdId: string }[] = [];
  /** References of refunds and chargebacks that were booked. */
  readonly booked = new Set<string>();
  /** Users who have completed the payout onboarding. */
  readonly payees: ReadonlySet<string>;
  readonly moderators: ReadonlySet<string>;
  hour = 0;
  /** What the platform has earned. */
  platform = 0;

  constructor({ payees, moderators }: { payees: Iterable<string>; moderators: Iterable<string> }) {
    this.payees = new Set(payees);
    this.moderators = new Set(moderators);
  }

  clone(): Model {
    const clone = new Model(this);
    for (const [user, wallet] of this.wallets) clone.wallets.set(user, { ...wallet });
    for (const [id, task] of this.tasks) clone.tasks.set(id, { ...task });
    for (const [id, bid] of this.bids) clone.bids.set(id, { ...bid });
    for (const [id, payout] of this.payouts) clone.payouts.set(id, { ...payout });
    for (const [id, dispute] of this.disputes) clone.disputes.set(id, { ...dispute });
    for (const [id, agreement] of this.agreements) clone.agreements.set(id, { ...agreement });
    for (const reference of this.booked) clone.booked.add(reference);
    clone.topups.push(...this.topups);
    clone.answered.push(...this.answered);
    clone.hour = this.hour;
    clone.platform = this.platform;
    return clone;
  }

  /** Whether a moderator may not decide about the task: they posted it, or have a bid on it, whatever became of it. */
  isInvolved(user: string, task: ModelTask): boolean {
    return user === task.buyer || this.bidsOf(task.id).some((bid) => bid.bidder === user);
  }

  bidsOf(taskId: string): ModelBid[] {
    return [...this.bids.values()].filter((bid) => bid.task === taskId);
  }

  wallet(user: string): ModelWallet {
    const wallet = this.wallets.get(user) ?? { available: 0, held: 0, debt: 0 };
    this.wallets.set(user, wallet);
    return wallet;
  }

  /** `createdId` is the real id of what the command created: the task, bid, dispute or payment intent. */
  apply(command: Command, createdId = ""): Outcome {
    if (command.kind === "repeat") {
      if (command.changed) return "idempotency_conflict";
      return createdId === command.createdId ? "accepted" : "internal_error";
    }
    const outcome = this.#carryOut(command, createdId);
    if (outcome === "accepted" && isRequest(command)) this.answered.push({ command, createdId });
    return outcome;
  }

  #carryOut(command: Exclude<Command, { kind: "repeat" }>, createdId: string): Outcome {
    switch (command.kind) {
      case "topUp":
        this.topups.push({ paymentIntent: createdId, user: command.user, amount: command.amount });
        return this.#credit(command.user, command.amount);
      case "repeatTopUp":
        return "accepted";
      case "refund": {
        const { topup, half, failed } = command;
        const reference = `refund ${topup.paymentIntent} ${half}`;
        return this.#takeBack(topup.user, refundOf(topup, half), reference, failed);
      }
      case "chargeback": {
        const { topup, reinstated } = command;
        return this.#takeBack(topup.user, topup.amount, `chargeback ${topup.paymentIntent}`, reinstated);
      }
      case "payOut":
        return this.#payOut(command.user, command.amount, createdId);
      case "payoutNews":
        return this.#hear(command.payout.id, command.news);
      case "post":
        return this.#post(command.user, command.budget, createdId);
      case "resolve":
        return this.#resolve(command.user, command.dispute, command.decision);
      case "editBid":
      case "withdraw":
      case "deliver":
      case "giveBack": {
        const bid = this.bids.get(command.bid);
        return bid ? this.#applyToBid(command, bid) : "not_found";
      }
      case "answer": {
        const agreement = this.agreements.get(command.agreement);
        return agreement ? this.#answer(command.user, agreement, command.answer) : "not_found";
      }
      case "lapseAgreement": {
        const agreement = this.agreements.get(command.agreement);
        if (agreement?.status === "pending" && this.hour >= agreement.expires) agreement.status = "lapsed";
        return agreement ? "accepted" : "not_found";
      }
      case "passHours":
        this.hour += command.hours;
        return "accepted";
      default: {
        const task = this.tasks.get(command.task);
        return task ? this.#applyToTask(command, task, createdId) : "not_found";
      }
    }
  }

  #applyToTask(command: TaskCommand, task: ModelTask, createdId: string): Outcome {
    switch (command.kind) {
      case "editBudget":
        return this.#editBudget(command.user, task, command.budget);
      case "cancel":
        return this.#cancel(command.user, task);
      case "bid":
        return this.#place(command.user, task, command.price, createdId);
      case "award":
        return this.#award(command.user, task, this.bids.get(command.bid));
      case "accept":
        return this.#accept(command.user, task);
      case "autoAccept":
        if (this.seen(task).status === "delivered" && !this.#isInTime(task))
          this.#pay(task, task.acceptedByChecks ? "checks" : "clock");
        return "accepted";
      case "judge":
        return this.#judge(task);
      case "expire":
        if (task.status === "awarded" && !task.delivered && this.isPastDeadline(task)) this.#expire(task);
        return "accepted";
      case "requestChanges":
        return this.#requestChanges(command.user, task);
      case "declineChanges":
        return this.#declineChanges(command.user, task);
      case "endRound":
        if (!this.#isRoundOver(task)) return "accepted";
        Object.assign(task, this.seen(task));
        return this.#moved(task);
      case "propose":
        return this.#propose(command, task, createdId);
      case "dispute":
        return this.#dispute(command.user, task, createdId);
    }
  }

  #applyToBid(command: BidCommand, bid: ModelBid): Outcome {
    switch (command.kind) {
      case "editBid":
        return this.#editBid(command.user, bid, command.price);
      case "withdraw":
        return this.#withdraw(command.user, bid);
      case "deliver":
        return this.#deliver(command.user, bid);
      case "giveBack":
        return this.#giveBack(command.user, bid);
    }
  }

  /** For ids that the model itself refers to, which must exist. */
  #task(id: string): ModelTask {
    const task = this.tasks.get(id);
    if (!task) throw new Error(`the model knows no task ${id}`);
    return task;
  }

  /** The bid that a task was awarded to; null before the award. */
  awardedBidOf(task: ModelTask): ModelBid | null {
    return this.bids.get(task.awardedBid ?? "") ?? null;
  }

  #agreement(task: ModelTask): ModelBid {
    const bid = this.awardedBidOf(task);
    if (bid === null) throw new Error(`the model has not awarded task ${task.id}`);
    return bid;
  }

  isPastDeadline(task: ModelTask): boolean {
    return task.deadline !== null && this.hour >= task.deadline;
  }

  #credit(user: string, amount: number): Outcome {
    this.wallet(user).available += amount;
    this.#payDebt(user);
    return "accepted";
  }

  #payDebt(user: string): void {
    const wallet = this.wallet(user);
    const paid = Math.min(wallet.available, wallet.debt);
    wallet.available -= paid;
    wallet.debt -= paid;
  }

  /** Takes an amount once; what is not available becomes a debt. `returned`: gives it back, also once. */
  #takeBack(user: string, amount: number, reference: string, returned: boolean): Outcome {
    if (!this.booked.has(reference)) {
      this.booked.add(reference);
      const wallet = this.wallet(user);
      const taken = Math.min(wallet.available, amount);
      wallet.available -= taken;
      wallet.debt += amount - taken;
    }
    if (returned && !this.booked.has(`${reference} returned`)) {
      this.booked.add(`${reference} returned`);
      this.#credit(user, amount);
    }
    return "accepted";
  }

  #payOut(user: string, amount: number, id: string): Outcome {
    if (!this.payees.has(user)) return "onboarding_required";
    const wallet = this.wallet(user);
    if (wallet.available < amount) return "insufficient_funds";
    wallet.available -= amount;
    this.payouts.set(id, { id, user, amount, failed: false });
    return "accepted";
  }

  #hear(payoutId: string, news: PayoutNews): Outcome {
    const payout = this.payouts.get(payoutId);
    if (!payout) throw new Error(`the model knows no payout ${payoutId}`);
    if (news !== "transfer.reversed" || payout.failed) return "accepted";
    payout.failed = true;
    return this.#credit(payout.user, payout.amount);
  }

  /** available → held; a negative amount moves back, and then pays the debt. */
  #hold(user: string, amount: number): boolean {
    const wallet = this.wallet(user);
    if (wallet.available < amount) return false;
    wallet.available -= amount;
    wallet.held += amount;
    if (amount < 0) this.#payDebt(user);
    return true;
  }

  #post(user: string, budget: number, id: string): Outcome {
    if (!this.#hold(user, budget)) return "insufficient_funds";
    this.tasks.set(id, {
      id,
      buyer: user,
      budget,
      status: "open",
      awardedBid: null,
      deadline: null,
      delivered: false,
      rounds: 0,
      checked: hasChecks(budget),
      ...{ judged: false, changesRequested: false, acceptedByChecks: false, acceptedBy: null },
    });
    return "accepted";
  }

  #editBudget(user: string, task: ModelTask, budget: number): Outcome {
    if (task.buyer !== user) return "forbidden";
    if (task.status !== "open") return "wrong_status";
    if (budget === task.budget) return "accepted";
    if (this.bidsOf(task.id).some((bid) => bid.status === "active")) return "budget_locked_by_bids";
    if (!this.#hold(user, budget - task.budget)) return "insufficient_funds";
    task.budget = budget;
    return "accepted";
  }

  #cancel(user: string, task: ModelTask): Outcome {
    if (task.buyer !== user) return "forbidden";
    if (task.status !== "open") return "wrong_status";
    this.#hold(user, -task.budget);
    task.status = "cancelled";
    this.#rejectActiveBids(task);
    return "accepted";
  }

  #rejectActiveBids(task: ModelTask): void {
    for (const bid of this.bidsOf(task.id)) if (bid.status === "active") bid.status = "rejected";
  }

  #place(user: string, task: ModelTask, price: number, id: string): Outcome {
    if (task.buyer === user) return "forbidden";
    if (task.status !== "open") return "wrong_status";
    if (price > task.budget) return "price_above_budget";
    if (this.bidsOf(task.id).some((bid) => bid.bidder === user && bid.status === "active")) return "active_bid_exists";
    this.bids.set(id, { id, task: task.id, bidder: user, price, fee: feeOf(price), status: "active" });
    return "accepted";
  }

  #editBid(user: string, bid: ModelBid, price: number): Outcome {
    if (bid.bidder !== user) return "forbidden";
    if (bid.status !== "active") return "wrong_status";
    if (price > this.#task(bid.task).budget) return "price_above_budget";
    bid.price = price;
    bid.fee = feeOf(price);
    return "accepted";
  }

  #withdraw(user: string, bid: ModelBid): Outcome {
    if (bid.bidder !== user) return "forbidden";
    if (bid.status !== "active") return "wrong_status";
    bid.status = "withdrawn";
    return "accepted";
  }

  #award(user: string, task: ModelTask, bid: ModelBid | undefined): Outcome {
    if (task.buyer !== user) return "forbidden";
    if (task.status !== "open") return "wrong_status";
    if (bid?.task !== task.id || bid.status !== "active") return "bid_invalid";
    this.#hold(user, bid.price - task.budget);
    bid.status = "awarded";
    this.#rejectActiveBids(task);
    task.status = "awarded";
    task.awardedBid = bid.id;
    task.deadline = this.hour + ETA_HOURS + GRACE_HOURS;
    return "accepted";
  }

  #deliver(user: string, bid: ModelBid): Outcome {
    if (bid.bidder !== user) return "forbidden";
    const task = this.#task(bid.task);
    if (this.seen(task).status !== "awarded" || task.awardedBid !== bid.id || !this.#isInTime(task))
      return "wrong_status";
    Object.assign(task, { judged: false, changesRequested: false });
    return this.#stands(task);
  }

  #judge(task: ModelTask): Outcome {
    if (!task.delivered || !task.checked || task.judged) return "accepted";
    task.judged = true;
    if (task.status !== "delivered" || task.changesRequested || task.deadline === null) return "accepted";
    Object.assign(task, { deadline: Math.min(task.deadline, this.hour + CHECKS_HOURS), acceptedByChecks: true });
    return "accepted";
  }

  #stands(task: ModelTask): Outcome {
    const deadline = this.hour + ACCEPTANCE_HOURS;
    Object.assign(task, { status: "delivered", delivered: true, deadline, acceptedByChecks: false });
    return this.#moved(task);
  }

  /** What the two sides were agreeing on is about the task as it was. */
  #moved(task: ModelTask): Outcome {
    for (const each of this.agreements.values())
      if (each.task === task.id && each.status === "pending") each.status = "lapsed";
    return "accepted";
  }

  #isRoundOver(task: ModelTask): boolean {
    return task.status === "awarded" && task.delivered && this.isPastDeadline(task);
  }

  /** From the end of a round on, the earlier delivery stands again, whether or not that was recorded. */
  seen(task: ModelTask): Pick<ModelTask, "status" | "deadline"> {
    if (!this.#isRoundOver(task)) return task;
    return { status: "delivered", deadline: (task.deadline ?? 0) + ACCEPTANCE_HOURS };
  }

  #isInTime(task: ModelTask): boolean {
    const { deadline } = this.seen(task);
    return deadline === null || this.hour < deadline;
  }

  #requestChanges(user: string, task: ModelTask): Outcome {
    if (task.buyer !== user) return "forbidden";
    if (this.seen(task).status !== "delivered" || !this.#isInTime(task)) return "wrong_status";
    if (task.rounds >= REVISIONS) return "no_revisions_left";
    const deadline = this.hour + CHANGES_HOURS;
    const changed = { changesRequested: true, acceptedByChecks: false };
    Object.assign(task, { status: "awarded", deadline, rounds: task.rounds + 1, ...changed });
    return this.#moved(task);
  }

  #declineChanges(user: string, task: ModelTask): Outcome {
    if (this.awardedBidOf(task)?.bidder !== user) return "forbidden";
    if (this.seen(task).status !== "awarded" || !task.delivered) return "wrong_status";
    return this.#stands(task);
  }

  #giveBack(user: string, bid: ModelBid): Outcome {
    if (bid.bidder !== user) return "forbidden";
    const task = this.#task(bid.task);
    const isMine = task.awardedBid === bid.id && task.status === "awarded";
    if (!isMine || task.delivered || !this.#isInTime(task)) return "wrong_status";
    return this.#cancelAwarded(task);
  }

  #cancelAwarded(task: ModelTask): Outcome {
    this.#hold(task.buyer, -this.#agreement(task).price);
    task.status = "cancelled";
    return this.#moved(task);
  }

  sideOf(user: string, task: ModelTask): "buyer" | "bidder" | null {
    if (task.buyer === user) return "buyer";
    return this.awardedBidOf(task)?.bidder === user ? "bidder" : null;
  }

  /** Whether the two sides could do this now, if both wanted it. */
  #isPossible(kind: AgreementKind, task: ModelTask): boolean {
    const possible: Record<AgreementKind, TaskStatus[]> = {
      extend: ["awarded"],
      cancel: ["awarded", "delivered"],
      settle: ["awarded", "delivered", "disputed"],
    };
    const { status } = this.seen(task);
    return possible[kind].includes(status) && (status === "disputed" || this.#isInTime(task));
  }

  #hasLapsed(agreement: ModelAgreement): boolean {
    return this.hour >= agreement.expires || this.#isRoundOver(this.#task(agreement.task));
  }

  #propose(
    { user, agreement: kind, value }: Extract<Command, { kind: "propose" }>,
    task: ModelTask,
    id: string,
  ): Outcome {
    const by = this.sideOf(user, task);
    if (by === null) return "forbidden";
    if (!this.#isPossible(kind, task)) return "wrong_status";
    if (kind === "settle" && value > this.#agreement(task).price) return "invalid_input";
    const due = (task.deadline ?? 0) - (task.delivered ? 0 : GRACE_HOURS);
    if (kind === "extend" && this.hour + value < due) return "invalid_input";
    const pending = [...this.agreements.values()].find((each) => each.task === task.id && each.status === "pending");
    if (pending && !this.#hasLapsed(pending)) return "agreement_pending";
    if (pending) pending.status = "lapsed";
    const [expires, meant] = [this.hour + AGREEMENT_HOURS, kind === "extend" ? this.hour + value : value];
    this.agreements.set(id, { id, task: task.id, by, kind, value: meant, expires, status: "pending" });
    return "accepted";
  }

  #answer(user: string, agreement: ModelAgreement, answer: "accept" | "decline" | "withdraw"): Outcome {
    const task = this.#task(agreement.task);
    const side = this.sideOf(user, task);
    if (side === null) return "not_found";
    if ((side === agreement.by) !== (answer === "withdraw")) return "forbidden";
    if (agreement.status !== "pending" || this.#hasLapsed(agreement)) return "wrong_status";
    if (answer !== "accept") {
      agreement.status = answer === "decline" ? "declined" : "withdrawn";
      return "accepted";
    }
    const { kind, value } = agreement;
    if (!this.#isPossible(kind, task) || (kind === "extend" && this.hour >= value)) return "wrong_status";
    agreement.status = "accepted";
    if (kind === "cancel") return this.#cancelAwarded(task);
    if (kind === "settle") return this.#divide(task, value);
    task.deadline = value + (task.delivered ? 0 : GRACE_HOURS);
    return "accepted";
  }

  #divide(task: ModelTask, share: number, minimum?: number): Outcome {
    const { bidder, price, fee } = this.#agreement(task);
    task.status = "resolved";
    for (const dispute of this.disputes.values())
      if (dispute.task === task.id) dispute.shares = { buyer: price - share, bidder: share };
    this.#moved(task);
    this.#hold(task.buyer, share - price);
    this.wallet(task.buyer).held -= share;
    const taken = share === price ? fee : feeOf(share, minimum);
    this.platform += taken;
    return this.#credit(bidder, share - taken);
  }

  #accept(user: string, task: ModelTask): Outcome {
    if (task.buyer !== user) return "forbidden";
    if (this.seen(task).status !== "delivered" || !this.#isInTime(task)) return "wrong_status";
    return this.#pay(task, "buyer");
  }

  #pay(task: ModelTask, acceptedBy: ModelTask["acceptedBy"]): Outcome {
    const { bidder, price, fee } = this.#agreement(task);
    this.wallet(task.buyer).held -= price;
    Object.assign(task, { status: "accepted", acceptedBy });
    this.#moved(task);
    this.platform += fee;
    return this.#credit(bidder, price - fee);
  }

  #expire(task: ModelTask): void {
    this.#hold(task.buyer, -this.#agreement(task).price);
    task.status = "expired";
    this.#moved(task);
  }

  #dispute(user: string, task: ModelTask, id: string): Outcome {
    if (user !== task.buyer && user !== this.awardedBidOf(task)?.bidder) return "forbidden";
    if (task.status === "disputed") return "already_disputed";
    if (this.seen(task).status !== "delivered" || !this.#isInTime(task)) return "wrong_status";
    task.status = "disputed";
    this.#moved(task);
    this.disputes.set(id, { id, task: task.id, openedBy: user === task.buyer ? "buyer" : "bidder", shares: null });
    return "accepted";
  }

  /** Checks permission first, then input that is invalid for any dispute, then the state of this one. */
  #resolve(user: string, disputeId: string, { resolution, bidderCents }: Decision): Outcome {
    if (!this.moderators.has(user)) return "forbidden";
    if (bidderCents !== undefined && bidderCents < 1) return "invalid_input";
    const dispute = this.disputes.get(disputeId);
    if (!dispute) return "not_found";
    const task = this.#task(dispute.task);
    const { price } = this.#agreement(task);
    if (this.isInvolved(user, task)) return "forbidden";
    if (task.status !== "disputed") return "wrong_status";
    if ((resolution === "split") !== (bidderCents !== undefined)) return "invalid_input";
    const share = bidderCents ?? (resolution === "release" ? price : 0);
    if (resolution === "split" && share >= price) return "invalid_input";
    return this.#divide(task, share, 0);
  }
}
