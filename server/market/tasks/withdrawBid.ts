import type { Bid } from "../../schemas/bid.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { moveBid } from "../bids/records.ts";
import type { BidActor } from "../bids/rules.ts";
import { updateTask } from "./records.ts";

/** Withdraws a bid whose task is locked. Throws the refusal of the bid's state table. */
export async function withdrawBid(tx: Transaction, bid: Bid, actor: BidActor): Promise<Bid> {
  const withdrawn = await moveBid(tx, "withdraw", bid, { actor });
  const task = await updateTask(tx, bid.taskId, sql`bid_count = bid_count - 1`);
  tx.events.record("bid.withdrawn", { task, bid: withdrawn }, [task.buyerId, bid.bidder.id]);
  return withdrawn;
}
