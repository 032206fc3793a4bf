/**
 * The clients: many task lifecycles at once, over real HTTP. Each remembers what was acknowledged to it, and nothing
 * else; a missing response, or one that says that something is unavailable, is an unknown outcome. Then they repeat the
 * request, mostly with its `Idempotency-Key`, until they know.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { BankAccount, CheckoutOutcome } from "../../server/local/processor/model/choices.ts";
import { resolutions } from "../../server/schemas/dispute.ts";
import { cookieOf } from "../factories/people.ts";
import { disputeReason, taskInput } from "../factories/tasks.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import { hastenRound, withdrawFees } from "./inDatabase.ts";
import type { Random } from "./random.ts";

/** A success that a client was told. It must still hold at the end, or have been followed by a later state. */
export type Acknowledgement =
  | { kind: "signup"; userId: string; email: string }
  | { kind: "topup"; userId: string; sessionId: string; amountCents: number }
  | { kind: "post"; taskId: string; buyerId: string; budgetCents: number }
  | { kind: "decide"; approvalId: string; status: "approved" | "declined" | "failed" }
  | { kind: "edit"; taskId: string; budgetCents: number }
  | { kind: "bid"; bidId: string; taskId: string; bidderId: string; priceCents: number }
  | { kind: "withdraw"; bidId: string }
  | { kind: "cancel"; taskId: string }
  | { kind: "award"; taskId: string; bidId: string }
  | { kind: "deliver"; taskId: string; deliveryId: string }
  | { kind: "requestChanges"; taskId: string; round: number }
  | { kind: "declineChanges"; taskId: string; round: number }
  | { kind: "roundEnds"; taskId: string; round: number }
  | { kind: "giveBack"; taskId: string }
  | { kind: "extend"; taskId: string; agreementId: string; deliveryDueAt: string }
  | { kind: "cancelTogether"; taskId: string; agreementId: string }
  | { kind: "settle" | "settleDispute"; taskId: string; agreementId: string; buyerCents: number; bidderCents: number }
  | { kind: "endAgreement"; agreementId: string; status: "declined" | "withdrawn" }
  | { kind: "accept"; taskId: string; acceptedAt: string }
  | { kind: "acceptOnChecks"; taskId: string; acceptedAt: string }
  | { kind: "dispute"; disputeId: string; taskId: string; openedBy: "buyer" | "bidder" }
  | { kind: "resolve"; disputeId: string; taskId: string; buyerCents: number; bidderCents: number }
  | { kind: "payout"; userId: string; ledgerId: string; amountCents: number }
  | { kind: "withdrawFees"; reference: string; amountCents: number };

export const acknowledgementKinds = [
  "signup",
  "topup",
  "post",
  "decide",
  "edit",
  "bid",
  "withdraw",
  "cancel",
  "award",
  "deliver",
  "requestChanges",
  "declineChanges",
  "roundEnds",
  "giveBack",
  "extend",
  "cancelTogether",
  "settle",
  "settleDispute",
  "endAgreement",
  "accept",
  "acceptOnChecks",
  "dispute",
  "resolve",
  "payout",
  "withdrawFees",
] as const satisfies readonly Acknowledgement["kind"][];

/** One request: when it was in flight (milliseconds since the epoch), and what its client knows about its outcome. */
export interface SentRequest {
  startedAt: number;
  endedAt: number;
  /** `unsent`: nobody listened, so nothing was done. `abandoned`: the client hung up, so only the service knows. */
  outcome: "known" | "unknown" | "unsent" | "abandoned";
}

interface Person {
  id: string;
  credentials: Credentials;
  /** Whether the payout onboarding was completed. */
  onboarded: boolean;
  /** Acts for the person, and asks before it spends anything. */
  agent?: Person;
}

/** An awarded task, its two sides, and what it costs. */
interface Deal {
  taskId: string;
  bidId: string;
  priceCents: number;
  buyer: Person;
  bidder: Person;
}

interface Proposal {
  id: string;
  kind: "extend" | "cancel" | "settle";
  by: Person;
  other: Person;
  deliveryDueAt: string;
  bidderCents: number;
  inDispute: boolean;
}

/** Where the load reaches what it works with. */
export interface Reach {
  api: string;
  processor: string;
  /** Its connection string, to let time pass. */
  database: string;
}

/** How an answer was lost: to a kill or a fault, because the client hung up, or because it ignored what it received. */
type Loss = "fault" | "hangUp" | "ignored";

/** The request may or may not have been carried out. */
class UnknownOutcome extends Error {
  readonly loss: Loss;
  constructor(message: string, loss: Loss = "fault") {
    super(message);
    this.loss = loss;
  }
}

/** The wallet lacks the money for this. */
class OutOfMoney extends Error {}

const REQUEST_TIMEOUT_MS = 20_000;
const RETRY_PAUSE_MS = 250;
/** Few kills fall between a commit and its response, so some clients hang up as well, after at most this long. */
const HANG_UP_MS = 100;
/** The shares of keyed requests whose client hangs up, and of their successes that the client ignores. */
const LOSS_SHARE = { hangUp: 0.15, ignored: 0.15 } as const;
/** Nothing is unavailable for this long. Payouts are for about a minute: a failover, and the check of the books after it. */
const PATIENCE_MS = 120_000;
/** The error codes that say that something is temporarily unavailable. */
const unavailableCodes = ["unavailable", "processor_unavailable"];
/** How checkouts end: mostly well, or no task would ever be posted. */
const checkoutOutcomes: CheckoutOutcome[] = [
  ...Array<CheckoutOutcome>(12).fill("pays"),
  ...(["pays_later", "pays_later", "pays_later_fails", "declined"] as const),
  ...(["refunded", "refunded_half", "disputed", "disputed_won", "disputed_lost"] as const),
];
/** How payouts end; none stays in transit forever, so that the books settle. */
const banks: BankAccount[] = ["pays", "pays", "pays", "fails", "fails_after_paid"];
const MIN_PAYOUT_CENTS = 1_000;
/** What is delivered here. */
const CONTENT = "done";
/** What a buyer agrees on: mostly nothing, now and then that what passes is accepted at once. */
const agreedOn = ["passes", "nothing", "fails", "nothing"] as const;
const textCheck = (contained: string) => ({
  checks: [{ name: "It says so", required: true, kind: "text", contains: [contained] }],
  acceptOnChecks: { afterMinutes: 0 },
});
const checksOf = { nothing: {}, passes: textCheck(CONTENT), fails: textCheck("undone") } as const;

export class Load {
  readonly acknowledged: Acknowledgement[] = [];
  readonly requests: SentRequest[] = [];
  /** Repeats that got the kept answer of an earlier request, by how its own answer was lost. */
  readonly replayed: Record<Loss, number> = { fault: 0, hangUp: 0, ignored: 0 };
  /** Responses that no rule allows: each is a bug. */
  readonly surprises: string[] = [];
  readonly #reach: Reach;
  readonly #random: Random;
  readonly #people: Person[] = [];
  #moderator: Person | null = null;
  #count = 0;
  /** How often each choice was made in turn. */
  readonly #turns = new Map<string, number>();
  /** Of top-ups that were paid and not yet refunded or disputed, oldest first. */
  readonly #paidSessions: string[] = [];
  #running = false;

  constructor(reach: Reach, random: Random) {
    this.#reach = reach;
    this.#random = random;
  }

  /**
   * Signs up the user who resolves disputes and has none, and returns the id that gets the role. Call it before the
   * faults.
   */
  async signUpModerator(): Promise<string> {
    await this.#signUp();
    this.#moderator = this.#people.pop() ?? null;
    return this.#moderator?.id ?? "";
  }

  /** Starts `clients` loops; the result resolves after `stop`, when each has finished its current attempt. */
  async run(clients: number): Promise<void> {
    this.#running = true;
    await Promise.all(Array.from({ length: clients }, () => this.#client()));
  }

  stop(): void {
    this.#running = false;
  }

  async #client(): Promise<void> {
    await this.#attempt(() => this.#signUp());
    while (this.#running) {
      const choice = this.#random.integer(1, 100);
      if (choice <= 4) await this.#attempt(() => this.#signUp());
      else if (choice <= 20) await this.#attempt(() => this.#topUp(this.#someone()));
      else if (choice <= 35) await this.#attempt(() => this.#payOut(this.#someone()));
      else if (choice <= 40) await this.#attempt(() => this.#takeBack());
      else if (choice <= 43) await this.#attempt(() => this.#withdrawFees());
      else await this.#attempt(() => this.#lifecycle());
    }
  }

  /** An unknown outcome ends an attempt; what was begun stays as it is. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof OutOfMoney) return;
      if (error instanceof UnknownOutcome) return void (await sleep(RETRY_PAUSE_MS));
      this.surprises.push(error instanceof Error ? error.message : String(error));
    }
  }

  #someone(except: Person[] = []): Person {
    const others = this.#people.filter((person) => !except.includes(person));
    if (others.length === 0) throw new UnknownOutcome("nobody else has signed up yet");
    return this.#random.pick(others);
  }

  async #signUp(): Promise<void> {
    const email = `person${++this.#count}@example.com`;
    const body = { email, password: "correct horse battery", displayName: `Person ${this.#count}` };
    const answer = await this.#ask(null, "POST", "/auth/signup", body);
    const userId: string = answer.body.user.id;
    this.acknowledged.push({ kind: "signup", userId, email });
    this.#people.push({ id: userId, credentials: cookieOf(answer), onboarded: false });
  }

  /** Opens a checkout and pays it, one way or another. */
  async #topUp(person: Person): Promise<void> {
    const amountCents = this.#random.integer(5_000, 60_000);
    const answer = await this.#insist(person, "POST", "/wallet/topup", { amountCents });
    const { sessionId } = answer.body;
    this.acknowledged.push({ kind: "topup", userId: person.id, sessionId, amountCents });
    const outcome = this.#random.pick(checkoutOutcomes);
    await this.#play(`checkout/${sessionId}/pay`, { outcome });
    if (outcome === "pays") this.#paidSessions.push(sessionId);
  }

  /** Refunds or disputes an earlier top-up, whose money may have been spent: the missing part becomes a debt. */
  async #takeBack(): Promise<void> {
    const sessionId = this.#paidSessions.shift();
    if (sessionId === undefined) return;
    const action = this.#random.pick(["refund", "dispute"]);
    await this.#play(`charges/${sessionId}/${action}`, {});
  }

  /** The operator takes a part of what the platform has earned. */
  async #withdrawFees(): Promise<void> {
    const [reference, amountCents] = [crypto.randomUUID(), this.#random.integer(1, 100)];
    if (!(await withdrawFees(this.#reach.database, amountCents, reference))) return;
    this.acknowledged.push({ kind: "withdrawFees", reference, amountCents });
  }

  /** Plays a cardholder or a bank. A connection that the processor closes while it is idle loses an answer now and then. */
  async #play(path: string, body: object): Promise<void> {
    const answer = await rest(this.#reach.processor, "POST", `/test/${path}`, { body }).catch(() => {
      throw new UnknownOutcome(path);
    });
    if (answer.status !== 200) throw new Error(`${path} returned ${answer.status}: ${answer.text}`);
  }

  /** Goes through the onboarding first, as a person would on the hosted page. Some leave halfway and return later. */
  async #payOut(person: Person): Promise<void> {
    if (!person.onboarded) {
      const link = await this.#insist(person, "POST", "/payouts/onboarding");
      const leaves = this.#random.chance(0.1);
      const form = new URLSearchParams({
        bank: this.#random.pick(banks),
        ...(leaves && { outcome: "leaves" }),
      });
      const left = await fetch(link.body.url, { method: "POST", body: form, redirect: "manual" });
      if (left.status !== 303) throw new Error(`the onboarding page returned ${left.status}: ${await left.text()}`);
      person.onboarded = !leaves;
    }
    const { availableCents } = (await this.#insist(person, "GET", "/wallet")).body;
    const amountCents = this.#random.integer(MIN_PAYOUT_CENTS, Math.max(MIN_PAYOUT_CENTS, availableCents));
    const refusals = ["insufficient_funds", ...(person.onboarded ? [] : ["onboarding_incomplete"])];
    const answer = await this.#insist(person, "POST", "/payouts", { amountCents }, refusals);
    if (answer.status !== 202) return;
    this.acknowledged.push({ kind: "payout", userId: person.id, ledgerId: answer.body.pendingLedgerId, amountCents });
  }

  /**
   * One task, from its post to as far as chance takes it. Nobody else acts on it except the clock and the moderator.
   */
  async #lifecycle(): Promise<void> {
    const buyer = this.#someone();
    const agreed = this.#inTurn("agreed", agreedOn);
    const posted = await this.#post(buyer, checksOf[agreed]);
    if (posted === null) return;
    const { taskId, budgetCents } = posted;
    const bidders = Array.from({ length: this.#random.integer(1, 3) }, () => this.#someone([buyer]));
    const bids: Deal[] = [];
    for (const bidder of new Set(bidders)) {
      bids.push({ ...(await this.#bid(bidder, taskId, budgetCents)), taskId, buyer, bidder });
    }
    if (bids.length > 1 && this.#random.chance(0.3)) {
      const withdrawn = bids.pop();
      if (withdrawn) await this.#withdraw(withdrawn.bidder, withdrawn.bidId);
    }
    if (this.#inTurn("offered", ["award", "award", "award", "award", "award", "cancel"]) === "cancel") {
      return this.#cancel(buyer, taskId);
    }
    if (this.#random.chance(0.05)) return; // It stays open: money that is held at the end.
    const deal = this.#random.pick(bids);
    await this.#award(buyer, taskId, deal.bidId);
    if (this.#random.chance(0.05)) return; // It stays awarded.
    if (await this.#endsBeforeDelivery(deal)) return;
    await this.#deliver(deal);
    // Otherwise both sides race with the checks.
    if (agreed === "passes" && this.#inTurn("checked", ["wait", "race"] as const) === "wait") {
      return this.#letChecksAccept(deal);
    }
    if (await this.#endsInRound(deal)) return;
    await this.#end(deal);
  }

  /** Takes one of these choices after the other, not by chance, so that a short run has all of them. */
  #inTurn<Choice>(what: string, choices: readonly [Choice, ...Choice[]]): Choice {
    const turn = this.#turns.get(what) ?? 0;
    this.#turns.set(what, turn + 1);
    const chosen = choices[turn % choices.length];
    return chosen === undefined ? choices[0] : chosen;
  }

  /** Of an awarded task: mostly nothing happens before the delivery. Returns whether the task has ended. */
  async #endsBeforeDelivery(deal: Deal): Promise<boolean> {
    const choice = this.#inTurn("awarded", ["extend", "cancel", "giveBack", null, "settle", null, null, null] as const);
    if (choice === "giveBack") return this.#giveBack(deal);
    return choice !== null && this.#agree(deal, choice);
  }

  /** Of a delivered task: mostly the buyer wants no changes. Returns whether the task has ended. */
  async #endsInRound(deal: Deal): Promise<boolean> {
    const choices = ["clock", null, "decline", null, "deliver", null, "extend", null, "settle", null] as const;
    const choice = this.#inTurn("delivered", choices);
    if (choice === null) return false;
    const { taskId, buyer, bidder } = deal;
    const body = { reason: disputeReason };
    const asked = await this.#insist(buyer, "POST", `/tasks/${taskId}/request-changes`, body, ["wrong_status"]);
    if (asked.status !== 200) return false; // The window has passed meanwhile.
    const round: number = asked.body.task.revisionsUsed;
    this.acknowledged.push({ kind: "requestChanges", taskId, round });
    if (choice === "clock") await this.#letRoundEnd(buyer, taskId, round);
    if (choice === "decline") await this.#declineChanges(bidder, taskId, round);
    if ((choice === "extend" || choice === "settle") && (await this.#agree(deal, choice))) return true;
    if (choice === "extend" || choice === "settle" || choice === "deliver") await this.#deliver(deal);
    return false;
  }

  async #declineChanges(bidder: Person, taskId: string, round: number): Promise<void> {
    const path = `/tasks/${taskId}/decline-changes`;
    const declined = await this.#insist(bidder, "POST", path, { reason: disputeReason }, [], "wrong_status");
    if (declined.status === 200) this.acknowledged.push({ kind: "declineChanges", taskId, round });
    else await this.#expectStatus(bidder, taskId, ["delivered", "accepted"]);
  }

  /** Neither side does anything, until the buyer sees that the earlier delivery stands again. */
  async #letRoundEnd(buyer: Person, taskId: string, round: number): Promise<void> {
    await hastenRound(this.#reach.database, taskId, round);
    const read = async () => (await this.#insist(buyer, "GET", `/tasks/${taskId}`)).body.task.status;
    for (const deadline = Date.now() + PATIENCE_MS; (await read()) === "awarded"; await sleep(RETRY_PAUSE_MS)) {
      if (Date.now() > deadline) throw new Error(`round ${round} of task ${taskId} does not end`);
    }
    this.acknowledged.push({ kind: "roundEnds", taskId, round });
  }

  /** Neither side does anything, until the bidder is paid: mostly by the checks, and by the clock if no worker was there in time. */
  async #letChecksAccept({ bidder, taskId }: Deal): Promise<void> {
    const read = async () => (await this.#insist(bidder, "GET", `/tasks/${taskId}`)).body.task;
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(RETRY_PAUSE_MS)) {
      const { status, acceptedBy, acceptedAt } = await read();
      if (acceptedBy === "checks") this.acknowledged.push({ kind: "acceptOnChecks", taskId, acceptedAt });
      if (status === "accepted") return;
      if (Date.now() > deadline) throw new Error(`nobody accepts what was delivered for task ${taskId}`);
    }
  }

  async #giveBack({ bidder, taskId, bidId }: Deal): Promise<true> {
    const body = { reason: disputeReason };
    const answer = await this.#insist(bidder, "POST", `/bids/${bidId}/give-back`, body, [], "wrong_status");
    if (answer.status === 200) this.acknowledged.push({ kind: "giveBack", taskId });
    else await this.#expectStatus(bidder, taskId, ["cancelled"]);
    return true;
  }

  /** How a delivered task ends, or that nobody does anything, so that the acceptance window passes. */
  async #end(deal: Deal): Promise<void> {
    const choices = [
      "dispute",
      "accept",
      "cancel",
      "dispute",
      "settle",
      "silence",
      "accept",
      "dispute",
      "silence",
    ] as const;
    const choice = this.#inTurn("ends", choices);
    if (choice === "accept") await this.#accept(deal.buyer, deal.taskId);
    if (choice === "dispute") await this.#dispute(deal);
    if (choice === "cancel" || choice === "settle") await this.#agree(deal, choice);
  }

  /** One side proposes something, and the other mostly accepts, if the clock is not faster. Returns whether the task has ended. */
  async #agree(deal: Deal, kind: "extend" | "cancel" | "settle"): Promise<boolean> {
    const agreement = await this.#propose(deal, kind);
    return agreement !== null && (await this.#answer(deal, agreement)) && kind !== "extend";
  }

  /** Null if the task has moved meanwhile. */
  async #propose(deal: Deal, kind: "extend" | "cancel" | "settle"): Promise<Proposal | null> {
    const { taskId, priceCents } = deal;
    const [by, other] = this.#random.shuffle([deal.buyer, deal.bidder]);
    if (by === undefined || other === undefined) throw new Error("a deal has two sides");
    const { task } = (await this.#insist(by, "GET", `/tasks/${taskId}`)).body;
    const bidderCents = this.#random.integer(0, priceCents);
    const deliveryDueAt = new Date(Date.parse(task.deliveryDueAt) + 3_600_000).toISOString();
    const terms = { extend: { deliveryDueAt }, cancel: {}, settle: { bidderCents } }[kind];
    const body = { kind, reason: disputeReason, ...terms };
    const refusals = ["wrong_status", "agreement_pending"]; // One that nobody has answered.
    const proposed = await this.#insist(by, "POST", `/tasks/${taskId}/agreements`, body, refusals);
    if (proposed.status !== 201) return null;
    const { id } = proposed.body.agreement;
    return { id, kind, by, other, deliveryDueAt, bidderCents, inDispute: task.status === "disputed" };
  }

  /** Answers a proposal, or lets it lapse. Returns whether it was accepted. */
  async #answer(deal: Deal, proposal: Proposal): Promise<boolean> {
    const { id, kind, by, other, deliveryDueAt, bidderCents } = proposal;
    const choices = ["accept", "accept", "decline", "accept", "accept", "withdraw", "accept", "silence"] as const;
    const action = this.#inTurn(`answer to ${kind}${proposal.inDispute ? " in a dispute" : ""}`, choices);
    if (action === "silence") return false;
    const person = action === "withdraw" ? by : other;
    const answer = await this.#insist(person, "POST", `/agreements/${id}/${action}`, undefined, ["wrong_status"]);
    if (answer.status !== 200) return false; // It has lapsed, or the task has moved.
    const done = { taskId: deal.taskId, agreementId: id };
    if (action !== "accept") {
      const { status } = answer.body.agreement;
      this.acknowledged.push({ kind: "endAgreement", agreementId: id, status });
      return false;
    }
    const shares = { bidderCents, buyerCents: deal.priceCents - bidderCents };
    if (kind === "extend") this.acknowledged.push({ kind, ...done, deliveryDueAt });
    else if (kind === "cancel") this.acknowledged.push({ kind: "cancelTogether", ...done });
    else this.acknowledged.push({ kind: proposal.inDispute ? "settleDispute" : "settle", ...done, ...shares });
    return true;
  }

  /** By a session, or by an agent that asks. Null if its owner has declined. */
  async #post(buyer: Person, agreed: object): Promise<{ taskId: string; budgetCents: number } | null> {
    const maxBudgetCents = this.#random.integer(1_000, 15_000);
    const input = taskInput({ maxBudgetCents, revisions: 2, ...agreed });
    const asks = this.#inTurn("posted", ["session", "agent", "session"] as const) === "agent";
    const answer = asks
      ? await this.#postByAsking(buyer, input)
      : await this.#insist(buyer, "POST", "/tasks", input, ["insufficient_funds"]);
    if (answer === null) return null;
    if (answer.status === 402) {
      await this.#topUp(buyer);
      throw new OutOfMoney();
    }
    const taskId: string = answer.body.task.id;
    this.acknowledged.push({ kind: "post", taskId, buyerId: buyer.id, budgetCents: maxBudgetCents });
    if (!this.#random.chance(0.25)) return { taskId, budgetCents: maxBudgetCents };

    const budgetCents = this.#random.integer(500, 20_000);
    const edit = { maxBudgetCents: budgetCents };
    const edited = await this.#insist(buyer, "PATCH", `/tasks/${taskId}`, edit, ["insufficient_funds"]);
    if (edited.status !== 200) return { taskId, budgetCents: maxBudgetCents };
    this.acknowledged.push({ kind: "edit", taskId, budgetCents });
    return { taskId, budgetCents };
  }

  /** An agent asks, its owner decides, and the agent repeats its request, which has the answer. Null after a no. */
  async #postByAsking(owner: Person, input: Record<string, unknown>): Promise<Answer | null> {
    const agent = await this.#agentOf(owner);
    const key = crypto.randomUUID();
    const refusals = ["insufficient_funds", "approval_required"];
    const asked = await this.#insist(agent, "POST", "/tasks", input, refusals, undefined, key);
    if (asked.status === 402) return asked;
    const path = `/approvals/${asked.body.approval.id}`;
    const read = async () => (await this.#insist(owner, "GET", path)).body.approval;
    const { id: approvalId, version: seen } = await read();
    const isYes = this.#inTurn("asked", ["yes", "yes", "no"] as const) === "yes";
    const [action, body] = isYes ? ["approve", { seen }] : ["decline", { reason: disputeReason }];
    await this.#insist(owner, "POST", `${path}/${action}`, body, [], "wrong_status", null);
    const { status, result } = await read();
    this.acknowledged.push({ kind: "decide", approvalId, status });
    if (status === (isYes ? "pending" : "approved")) throw new Error(`${path} is ${status} after ${action}`);
    if (status === "declined") {
      // The money is looked at first, and may be spent by now.
      const refused = ["approval_declined", "insufficient_funds"];
      await this.#insist(agent, "POST", "/tasks", input, refused, undefined, key);
      return null;
    }
    if (status === "failed") return { ...asked, status: 402 };
    const done = await this.#insist(agent, "POST", "/tasks", input, [], undefined, key);
    if (!isDeepStrictEqual(done.body, result)) throw new Error(`${path}: ${done.text}, not ${JSON.stringify(result)}`);
    return done;
  }

  async #agentOf(owner: Person): Promise<Person> {
    if (owner.agent !== undefined) return owner.agent;
    const body = { label: "agent", scopes: ["task:write"], approval: { aboveCents: 0 } };
    // A key is shown once: if the answer is lost, there is one that nobody has.
    const { raw } = (await this.#ask(owner, "POST", "/keys", body)).body;
    owner.agent = { id: owner.id, credentials: { authorization: `Bearer ${raw}` }, onboarded: false };
    return owner.agent;
  }

  async #bid(bidder: Person, taskId: string, budgetCents: number): Promise<{ bidId: string; priceCents: number }> {
    const priceCents = this.#random.integer(1, budgetCents);
    const body = { priceCents, etaHours: this.#random.integer(1, 48) };
    const answer = await this.#insist(bidder, "POST", `/tasks/${taskId}/bids`, body, [], "active_bid_exists");
    if (answer.status === 201) {
      const bidId: string = answer.body.bid.id;
      this.acknowledged.push({ kind: "bid", bidId, taskId, bidderId: bidder.id, priceCents });
      return { bidId, priceCents };
    }
    const own = await this.#insist(bidder, "GET", `/tasks/${taskId}/bids`);
    return { bidId: own.body.bids[0].id, priceCents: own.body.bids[0].priceCents };
  }

  async #withdraw(bidder: Person, bidId: string): Promise<void> {
    const answer = await this.#insist(bidder, "POST", `/bids/${bidId}/withdraw`, undefined, [], "wrong_status");
    if (answer.status === 200) this.acknowledged.push({ kind: "withdraw", bidId });
  }

  async #cancel(buyer: Person, taskId: string): Promise<void> {
    const answer = await this.#insist(buyer, "POST", `/tasks/${taskId}/cancel`, undefined, [], "wrong_status");
    if (answer.status === 200) this.acknowledged.push({ kind: "cancel", taskId });
    else await this.#expectStatus(buyer, taskId, ["cancelled"]);
  }

  async #award(buyer: Person, taskId: string, bidId: string): Promise<void> {
    const answer = await this.#insist(buyer, "POST", `/tasks/${taskId}/award`, { bidId }, [], "wrong_status");
    if (answer.status === 200) this.acknowledged.push({ kind: "award", taskId, bidId });
    else await this.#expectStatus(buyer, taskId, ["awarded"]);
  }

  async #deliver({ bidder, taskId, bidId }: Deal): Promise<void> {
    const upload = { mimeType: "text/plain", bytes: CONTENT.length };
    const init = await this.#insist(bidder, "POST", `/bids/${bidId}/delivery/init`, upload);
    const { uploadUrl, storageKey } = init.body;
    const put = await fetch(uploadUrl, { method: "PUT", headers: { "content-type": "text/plain" }, body: CONTENT });
    if (put.status !== 200) throw new Error(`the PUT returned ${put.status}: ${await put.text()}`);
    const path = `/bids/${bidId}/delivery/finalize`;
    const answer = await this.#insist(bidder, "POST", path, { storageKey }, [], "wrong_status");
    if (answer.status === 201) {
      this.acknowledged.push({ kind: "deliver", taskId, deliveryId: answer.body.delivery.id });
    } else {
      await this.#expectStatus(bidder, taskId, ["delivered", "accepted"]);
    }
  }

  async #accept(buyer: Person, taskId: string): Promise<void> {
    const answer = await this.#insist(buyer, "POST", `/tasks/${taskId}/accept`, undefined, ["wrong_status"]);
    if (answer.status !== 200) return; // The window has passed, or the request before this one was done.
    this.acknowledged.push({ kind: "accept", taskId, acceptedAt: answer.body.task.acceptedAt });
  }

  /** One side disputes, unless the window has passed meanwhile; most disputes are then resolved. */
  async #dispute(deal: Deal): Promise<void> {
    const { taskId } = deal;
    const openedBy = this.#random.pick(["buyer", "bidder"] as const);
    const person = deal[openedBy];
    const body = { reason: disputeReason };
    const path = `/tasks/${taskId}/dispute`;
    const answer = await this.#insist(person, "POST", path, body, ["wrong_status"], "already_disputed");
    if (answer.body.error === "wrong_status") return;
    const { dispute } =
      answer.status === 201 ? answer.body : (await this.#insist(person, "GET", `/tasks/${taskId}`)).body;
    if (answer.status === 201) this.acknowledged.push({ kind: "dispute", disputeId: dispute.id, taskId, openedBy });
    const choice = this.#inTurn("disputed", ["settle", "decide", "race", "decide", "settle", "nothing"] as const);
    if (choice === "nothing") return; // It stays open: money that is held at the end.
    if (choice === "settle") return void (await this.#agree(deal, "settle"));
    const proposal = choice === "race" ? await this.#propose(deal, "settle") : null;
    await Promise.all([
      this.#resolve(dispute.id, taskId, proposal !== null),
      proposal !== null && this.#answer(deal, proposal),
    ]);
  }

  /** The moderator reads the case and decides. */
  async #resolve(disputeId: string, taskId: string, maySettle: boolean): Promise<void> {
    const moderator = this.#moderator;
    if (moderator === null) throw new Error("nobody was made a moderator");
    const read = () => this.#insist(moderator, "GET", `/disputes/${disputeId}`);
    const { priceCents } = (await read()).body.bid;
    const chosen = this.#random.pick(resolutions);
    const resolution = chosen === "split" && priceCents < 2 ? "refund" : chosen;
    const share = resolution === "split" ? this.#random.integer(1, priceCents - 1) : 0;
    const bidderCents = resolution === "release" ? priceCents : share;
    const decision = { resolution, ...(share > 0 && { bidderCents }) };
    const path = `/disputes/${disputeId}/resolve`;
    const answer = await this.#insist(
      moderator,
      "POST",
      path,
      decision,
      maySettle ? ["wrong_status"] : [],
      "wrong_status",
    );
    const { dispute } = answer.status === 200 ? answer.body : (await read()).body;
    if (maySettle && dispute.resolution === "settled") return;
    const buyerCents = priceCents - bidderCents;
    if (dispute.resolution !== resolution || dispute.buyerCents !== buyerCents || dispute.bidderCents !== bidderCents) {
      throw new Error(`${JSON.stringify(decision)} of ${priceCents} cents returned ${JSON.stringify(dispute)}`);
    }
    if (answer.status !== 200) return;
    this.acknowledged.push({ kind: "resolve", disputeId, taskId, buyerCents, bidderCents });
  }

  /** After a response was lost: what was then refused as already done must have been done. */
  async #expectStatus(person: Person, taskId: string, statuses: string[]): Promise<void> {
    const { status } = (await this.#insist(person, "GET", `/tasks/${taskId}`)).body.task;
    if (!statuses.includes(status)) throw new Error(`task ${taskId} is ${status}, not ${statuses.join(" or ")}`);
  }

  /**
   * Repeats a request until its outcome is known. What would be done twice is repeated with an `Idempotency-Key`, and so
   * is half of the rest; the other half may be refused with `ifDoneBefore` after an attempt without a response. `given` is the
   * key of an earlier request; null for none.
   */
  async #insist(
    person: Person,
    method: string,
    path: string,
    body?: unknown,
    expected: string[] = [],
    ifDoneBefore?: string,
    given?: string | null,
  ): Promise<Answer> {
    const isKeyed = method !== "GET" && given !== null && (ifDoneBefore === undefined || this.#random.chance(0.5));
    const key = isKeyed ? (given ?? crypto.randomUUID()) : undefined;
    let allowed = expected;
    let loss: Loss = "fault";
    let ignored: Answer | undefined;
    for (const deadline = Date.now() + PATIENCE_MS; ; ) {
      try {
        const answer = await this.#ask(person, method, path, body, allowed, key);
        // What was asked for has its answer from whoever decided, and not from a repeat.
        if (isReplayed(answer) && typeof given !== "string") this.replayed[loss]++;
        if (ignored !== undefined && !(isReplayed(answer) && isSame(answer, ignored))) {
          this.surprises.push(`${method} ${path} returned ${ignored.text}, and then ${answer.status}: ${answer.text}`);
        }
        const ignores = isKeyed && answer.status < 300 && this.#random.chance(LOSS_SHARE.ignored);
        if (ignored !== undefined || !ignores) return answer;
        [ignored, loss] = [answer, "ignored"];
        continue;
      } catch (error) {
        if (!(error instanceof UnknownOutcome)) throw error;
        if (ignored === undefined) loss = error.loss;
        if (Date.now() > deadline)
          throw new Error(`${method} ${path} got no definite response in ${PATIENCE_MS / 1000} s`);
      }
      if (ifDoneBefore && !isKeyed) allowed = [...expected, ifDoneBefore];
      await sleep(RETRY_PAUSE_MS);
    }
  }

  /**
   * Sends a request. Throws if it ends in an error that is not `expected`, and `UnknownOutcome` if its outcome is
   * unknown.
   */
  async #ask(
    person: Person | null,
    method: string,
    path: string,
    body: unknown,
    expected: string[] = [],
    key?: string,
  ): Promise<Answer> {
    const answer = await this.#send(person, method, path, body, key);
    if (answer.status >= 300 && !expected.includes(answer.body?.error)) {
      throw new Error(`${method} ${path} returned ${answer.status}: ${answer.text}`);
    }
    return answer;
  }

  /** Sends one request. Throws `UnknownOutcome` unless the response tells what happened. */
  async #send(person: Person | null, method: string, path: string, body: unknown, key?: string): Promise<Answer> {
    const request: SentRequest = { startedAt: Date.now(), endedAt: Number.POSITIVE_INFINITY, outcome: "unknown" };
    this.requests.push(request);
    const hangsUp = key !== undefined && this.#random.chance(LOSS_SHARE.hangUp);
    const answer = await rest(this.#reach.api, method, path, {
      body,
      credentials: person?.credentials,
      headers: key === undefined ? {} : { "idempotency-key": key },
      signal: AbortSignal.timeout(hangsUp ? this.#random.integer(1, HANG_UP_MS) : REQUEST_TIMEOUT_MS),
    }).catch((error: unknown) => {
      // After any other failure, a broken connection or a timeout, the request may still have been carried out.
      if (isConnectionRefused(error)) request.outcome = "unsent";
      else if (hangsUp) request.outcome = "abandoned";
      return null;
    });
    request.endedAt = Date.now();
    if (answer === null) {
      throw new UnknownOutcome(`${method} ${path}`, request.outcome === "abandoned" ? "hangUp" : "fault");
    }
    if (answer.status < 500) {
      request.outcome = "known";
      return answer;
    }
    if (!unavailableCodes.includes(answer.body?.error)) {
      this.surprises.push(`${method} ${path} returned ${answer.status}: ${answer.text}`);
    }
    throw new UnknownOutcome(`${method} ${path}`);
  }
}

const isReplayed = ({ headers }: Answer) => headers.get("idempotent-replayed") === "true";

/** Whether two answers are equal, apart from addresses, which are made anew. */
function isSame(one: Answer, other: Answer): boolean {
  const withoutAddresses = ({ body }: Answer) =>
    JSON.stringify(body, (name, value) =>
      ["url", "uploadUrl", "downloadUrl", "expiresAt"].includes(name) ? "" : value,
    );
  return one.status === other.status && withoutAddresses(one) === withoutAddresses(other);
}

function isConnectionRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}
