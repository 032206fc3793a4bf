import type { Bid } from "../../schemas/bid.ts";
import type { Dispute } from "../../schemas/dispute.ts";
import type { TaskStatus } from "../../schemas/task.ts";
import { inOrder, join, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { findBid, rejectActiveBids } from "../bids/records.ts";
import { type TaskRecord, updateTask } from "./records.ts";
import { assertTaskAction, deadlineOf, type Moment } from "./rules.ts";
import { movements, type TaskAction, type TaskActor } from "./stateMachine.ts";

interface Move {
  actor: TaskActor;
  moment: Moment;
  /** The awarded bid, if the caller has read it behind the task's lock. */
  bid?: Bid;
  dispute?: Dispute;
  /** SQL assignments to columns of `tasks` besides the status and its timestamps. */
  changes?: Sql;
  /** The part of the price that a moderator awards to the bidder; 0 by default. */
  bidderCents?: number;
}

/**
 * Moves a task; nothing else changes a task's status. It asks the state table whether `actor` may do this to the locked
 * task now, and throws the table's refusal; otherwise it changes the status, then moves the money, then records the
 * events. The status comes first because it also updates the parties' reputations, and those rows are locked before the
 * wallets.
 */
export async function moveTask(
  tx: Transaction,
  action: TaskAction,
  task: TaskRecord,
  { actor, moment, bid: known, dispute, changes, bidderCents = 0 }: Move,
): Promise<TaskRecord> {
  const { to, after, money, rejectsBids, event } = assertTaskAction(action, task, actor, moment);
  if (to === task.status) throw new Error(`${action} does not move a task`);
  const at = (after && deadlineOf(task, after, moment)) ?? moment.now;
  const assignments = [sql`status = ${to}`, timestampsOf(to, at), changes].filter((part) => part !== undefined);
  const bid = known ?? (task.awardedBidId === null ? null : await getAwardedBid(tx, task));

  const [rejected, moved] = await inOrder(
    async () => (rejectsBids ? rejectActiveBids(tx, task.id) : []),
    () => updateTask(tx, task.id, join(assignments)),
  );
  if (moved.awardedBidId !== (bid?.id ?? null)) throw new Error(`${action} does not know the awarded bid`);

  const amounts = { budgetCents: task.maxBudgetCents, priceCents: bid?.priceCents ?? 0, bidderCents };
  const { returned, paid, returnKind } = movements[money];
  const reason = { taskId: task.id, bidId: bid?.id ?? null };
  tx.ledger.release(task.buyerId, returned(amounts), reason, returnKind);
  if (bid && paid(amounts) > 0) tx.ledger.pay(task.buyerId, bid.bidder.id, paid(amounts), reason);

  // Those whose bids lose by a cancellation hear of both; a decision between bids concerns the winner and the buyer.
  const bidders = bid === null ? rejected.map(({ bidder }) => bidder.id) : [bid.bidder.id];
  tx.events.record(event, { task: moved, ...(bid && { bid }), ...(dispute && { dispute }) }, [
    task.buyerId,
    ...bidders,
  ]);
  for (const lost of rejected) tx.events.record("bid.rejected", { task: moved, bid: lost }, [lost.bidder.id]);
  return moved;
}

/** The assignments that record when a task entered a status; `disputed` has its time in the dispute. */
function timestampsOf(status: TaskStatus, at: Date): Sql | undefined {
  const time = sql`${at.toISOString()}::timestamptz`;
  switch (status) {
    case "awarded":
      return sql`awarded_at = ${time}`;
    case "delivered":
      return sql`delivered_at = ${time}`;
    case "accepted":
      return sql`accepted_at = ${time}, closed_at = ${time}`;
    case "cancelled":
    case "expired":
    case "resolved":
      return sql`closed_at = ${time}`;
    default:
      return undefined;
  }
}

/** Returns the bid that a task was awarded to. */
export async function getAwardedBid(tx: Transaction, task: TaskRecord): Promise<Bid> {
  const bid = task.awardedBidId === null ? null : await findBid(tx, task.awardedBidId);
  if (bid === null) throw new Error(`task ${task.id} is ${task.status} without an awarded bid`);
  return bid;
}
