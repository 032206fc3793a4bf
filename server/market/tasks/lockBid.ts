import { type Connection, inOrder } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { getBid } from "../bids/records.ts";
import type { BidRecord } from "../fees/ofBid.ts";
import { findTaskOfBid, lockTaskOfBid, type TaskRecord } from "./records.ts";

interface BidOfTask {
  task: TaskRecord;
  bid: BidRecord;
}

/** Throws `not_found`. Takes no lock: either can change before the caller acts on it. */
export async function findBidOfTask(connection: Connection, bidId: string): Promise<BidOfTask> {
  const [task, bid] = await Promise.all([findTaskOfBid(connection, bidId), getBid(connection, bidId)]);
  return { task, bid };
}

/** Locks the task of a bid, which keeps both as they are until the transaction ends. Throws `not_found`. */
export async function lockBid(tx: Transaction, bidId: string): Promise<BidOfTask> {
  // The bid is read behind the lock, and so as the last holder of the lock left it.
  const [task, bid] = await inOrder(
    () => lockTaskOfBid(tx, bidId),
    () => getBid(tx, bidId),
  );
  return { task, bid };
}
