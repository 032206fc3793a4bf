import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { moveBid } from "../bids/records.ts";
import type { BidActor } from "../bids/rules.ts";
import type { BidRecord } from "../fees/ofBid.ts";
import { updateTask } from "./records.ts";

/** Withdraws a bid whose task is locked. Throws the refusal of the bid's state table. */
export async function withdrawBid(tx: Transaction, bid: BidRecord, actor: BidActor): Promise<BidRecord> {
  const withdrawn = await moveBid(tx, "withdraw", bid, { actor });
  const task = await updateTask(tx, bid.taskId, sql`bid_count = bid_count - 1`);
  tx.events.record("bid.withdrawn", { task, bid: withdrawn }, [task.buyerId, bid.bidder.id]);
  return withdrawn;
}
