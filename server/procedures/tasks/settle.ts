import { sql } from "../../db/connection.ts";
import type { Transaction } from "../../db/database.ts";
import { findBid } from "../bids/records.ts";
import { type TaskRecord, updateTask } from "./records.ts";

/**
 * Pays the awarded bid's price from the buyer's hold and closes the task: what accepting does, by the buyer or by the
 * deadline. The task is locked and `delivered`.
 */
export async function settleDelivery(tx: Transaction, task: TaskRecord, acceptedAt: Date): Promise<TaskRecord> {
  const bid = task.awardedBidId === null ? null : await findBid(tx, task.awardedBidId);
  if (bid === null) throw new Error(`task ${task.id} is delivered without an awarded bid`);
  await tx.ledger.pay(task.buyerId, bid.bidder.id, bid.priceCents, { taskId: task.id, bidId: bid.id });
  const at = acceptedAt.toISOString();
  const accepted = await updateTask(
    tx,
    task.id,
    sql`status = 'accepted', accepted_at = ${at}::timestamptz, closed_at = ${at}::timestamptz`,
  );
  await tx.events.record("task.accepted", { task: accepted, bid });
  return accepted;
}
