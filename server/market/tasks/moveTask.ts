import type { Agreement } from "../../schemas/agreement.ts";
import type { EventRecords } from "../../schemas/event.ts";
import { inOrder, join, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { findBid, rejectActiveBids } from "../bids/records.ts";
import type { BidRecord } from "../fees/ofBid.ts";
import { feeOfPayment } from "../fees/rules.ts";
import { endPending } from "./agreements.ts";
import { movements } from "./movements.ts";
import { type TaskRecord, updateTask } from "./records.ts";
import { type Refusal, recordEndOfRound } from "./rounds.ts";
import { acceptanceDeadlineOf, assertTaskAction, deadlineOf, isInRound, isRoundOver, type Moment } from "./rules.ts";
import type { AllowedAction, TaskAction, TaskActor } from "./stateMachine.ts";

interface Move {
  actor: TaskActor;
  moment: Moment;
  /** The awarded bid, if the caller has read it behind the task's lock. */
  bid?: BidRecord;
  /** What the event has besides the task and the bid. */
  details?: Pick<EventRecords, "dispute" | "agreement" | "by" | "reason">;
  /** SQL assignments to columns of `tasks` besides the status and its times. */
  changes?: Sql;
  /** The part of the price that a moderator, or both sides, award to the bidder; 0 by default. */
  bidderCents?: number;
  /** Of a round of changes that ends without another delivery. */
  declined?: Refusal;
}

/**
 * Moves a task; nothing else changes a task's status. It asks the state table whether `actor` may do this to the locked
 * task now, and throws the table's refusal; otherwise it changes the status, then moves the money, then records the
 * events, and schedules what the clock does if nobody moves the task before its new deadline. The status comes first because
 * it also updates the parties' reputations, and those rows are locked before the wallets.
 */
export async function moveTask(
  tx: Transaction,
  action: TaskAction,
  locked: TaskRecord,
  { actor, moment, bid: known, details, changes, bidderCents = 0, declined }: Move,
): Promise<TaskRecord> {
  const allowed = assertTaskAction(action, locked, actor, moment);
  const task = action !== "endRound" && isRoundOver(locked, moment) ? await endRound(tx, locked, moment) : locked;
  const { to, money, rejectsBids } = allowed;
  if (to === task.status) throw new Error(`${action} does not move a task`);
  const at = (allowed.deadline === "after" && deadlineOf(task, moment)) || moment.now;
  const bid = known ?? (task.awardedBidId === null ? null : await getAwardedBid(tx, task));

  const [rejected, , lapsed, moved] = await inOrder(
    async () => (rejectsBids ? rejectActiveBids(tx, task.id) : []),
    async () => isInRound(task) && recordEndOfRound(tx, task, at, declined),
    // What the two sides were agreeing on is about the task as it was.
    async () => (task.awardedBidId === null ? null : endPending(tx, task.id, "lapsed", at)),
    () => updateTask(tx, task.id, join(assignmentsOf(allowed, { at, actor, moment, changes }))),
  );
  if (moved.awardedBidId !== (bid?.id ?? null)) throw new Error(`${action} does not know the awarded bid`);

  const amounts = { budgetCents: task.maxBudgetCents, priceCents: bid?.priceCents ?? 0, bidderCents };
  const { returned, paid, part, returnKind } = movements[money];
  const reason = { taskId: task.id, bidId: bid?.id ?? null };
  tx.ledger.release(task.buyerId, returned(amounts), reason, returnKind);
  const paidCents = paid(amounts);
  if (bid && paidCents > 0) {
    const feeCents = feeOfPayment({ ...amounts, paidCents }, part, bid.fee);
    tx.ledger.pay(task.buyerId, bid.bidder.id, paidCents, reason, feeCents);
  }

  recordMove(tx, allowed, { task: moved, bid, rejected, details, lapsed });
  scheduleDeadline(tx, moved, moment);
  return moved;
}

interface Moved {
  task: TaskRecord;
  bid: BidRecord | null;
  rejected: BidRecord[];
  details: Move["details"];
  lapsed: Agreement | null;
}

/** Records the events of a move. */
function recordMove(
  tx: Transaction,
  { event, alsoEvent }: AllowedAction,
  { task, bid, rejected, details, lapsed }: Moved,
): void {
  // Those whose bids lose by a cancellation hear of both; a decision between bids concerns the winner and the buyer.
  const bidders = bid === null ? rejected.map(({ bidder }) => bidder.id) : [bid.bidder.id];
  const [records, sides] = [{ task, ...(bid && { bid }) }, [task.buyerId, ...bidders]];
  tx.events.record(event, { ...records, ...details }, sides);
  if (alsoEvent !== undefined) tx.events.record(alsoEvent, { ...records, ...details }, sides);
  if (lapsed !== null) tx.events.record("agreement.ended", { ...records, agreement: lapsed }, sides);
  for (const lost of rejected) tx.events.record("bid.rejected", { task, bid: lost }, [lost.bidder.id]);
}

/** Ends a round of changes whose time is over. */
export const endRound = (tx: Transaction, task: TaskRecord, moment: Moment): Promise<TaskRecord> =>
  moveTask(tx, "endRound", task, {
    ...{ actor: "clock", moment, details: { by: "clock", reason: null } },
    declined: { by: "clock", reason: null },
  });

/** The clock's move at a deadline is found in the task's row as well: the job only makes it prompt. */
export function scheduleDeadline(tx: Transaction, task: TaskRecord, moment: Moment): void {
  const runAt = deadlineOf(task, moment);
  if (runAt === null) return;
  const job = task.status === "delivered" ? "acceptDelivery" : isInRound(task) ? "endRound" : "expireTask";
  tx.jobs.add(job, { taskId: task.id }, { runAt });
}

/** The assignments to the columns of `tasks` that a move changes; `disputed` has its time in the dispute. */
function assignmentsOf(
  { to, setsTime, closedBecause }: AllowedAction,
  { at, actor, moment, changes }: Pick<Move, "actor" | "moment" | "changes"> & { at: Date },
): Sql[] {
  const isEnd = to !== "awarded" && to !== "delivered" && to !== "disputed";
  const time = (date: Date) => sql`${date.toISOString()}::timestamptz`;
  return [
    sql`status = ${to}`,
    setsTime === "awarded_at" && sql`awarded_at = ${time(at)}`,
    setsTime === "delivered_at" && sql`delivered_at = ${time(at)}`,
    to === "delivered" && sql`acceptance_deadline_at = ${time(acceptanceDeadlineOf(at, moment))}`,
    // Checks accept the delivery that they passed, and not a task that came back to it.
    sql`accepts_at = NULL`,
    to === "accepted" && sql`accepted_at = ${time(at)}, accepted_by = ${actor}`,
    isEnd && sql`closed_at = ${time(at)}`,
    closedBecause !== undefined && sql`closed_because = ${closedBecause}`,
    changes,
  ].filter((part) => part !== undefined && part !== false);
}

/** Returns the bid that a task was awarded to. */
export async function getAwardedBid(tx: Transaction, task: TaskRecord): Promise<BidRecord> {
  const bid = task.awardedBidId === null ? null : await findBid(tx, task.awardedBidId);
  if (bid === null) throw new Error(`task ${task.id} is ${task.status} without an awarded bid`);
  return bid;
}
