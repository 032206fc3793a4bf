import type { Bid } from "../../schemas/bid.ts";
import type { Dispute } from "../../schemas/dispute.ts";
import { join, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { findBid } from "../bids/records.ts";
import { type TaskRecord, updateTask } from "./records.ts";
import { movements, type TaskAction, taskTransitions } from "./stateMachine.ts";

interface Change {
  /** The bid that the task is awarded to; null before the award. */
  bid: Bid | null;
  dispute?: Dispute;
  /** SQL assignments beside the status. */
  changes?: ReturnType<typeof sql>;
  /** What a moderator gives the bidder. */
  bidderCents?: number;
}

/**
 * Moves a locked task along the state machine's table: its status, then the money, then the event. In this order,
 * because a change of status also counts in the parties' reputations, and those rows are locked before the wallets.
 */
export async function moveTask(
  tx: Transaction,
  action: TaskAction,
  task: TaskRecord,
  { bid, dispute, changes, bidderCents = 0 }: Change,
): Promise<TaskRecord> {
  const { to, money, event } = taskTransitions[action];
  if (to === "same") throw new Error(`${action} moves no task`);
  const moved = await updateTask(tx, task.id, join([sql`status = ${to}`, ...(changes ? [changes] : [])]));

  const amounts = { budgetCents: task.maxBudgetCents, priceCents: bid?.priceCents ?? 0, bidderCents };
  const { returned, paid, returnKind } = movements[money];
  const reason = { taskId: task.id, bidId: bid?.id ?? null };
  await tx.ledger.release(task.buyerId, returned(amounts), reason, returnKind);
  if (bid && paid(amounts) > 0) await tx.ledger.pay(task.buyerId, bid.bidder.id, paid(amounts), reason);

  if (event !== null) {
    await tx.events.record(event, { task: moved, ...(bid && { bid }), ...(dispute && { dispute }) });
  }
  return moved;
}

/** The bid that a task was awarded to. */
export async function findAwardedBid(tx: Transaction, task: TaskRecord): Promise<Bid> {
  const bid = task.awardedBidId === null ? null : await findBid(tx, task.awardedBidId);
  if (bid === null) throw new Error(`task ${task.id} is ${task.status} without an awarded bid`);
  return bid;
}
