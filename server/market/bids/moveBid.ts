import type { Bid } from "../../schemas/bid.ts";
import { join, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { bidExcerptColumns, updateBid } from "./records.ts";
import { assertBidAction, type BidAction, type BidActor, bidTransitions } from "./rules.ts";

interface Move {
  actor: BidActor;
  /** SQL assignments to columns of `bids` besides the status. */
  changes?: Sql;
}

/**
 * Moves a bid, or changes it within its status. It asks the state table whether `actor` may do this to the bid, whose
 * task must be locked, and throws the table's refusal.
 */
export async function moveBid(tx: Transaction, action: BidAction, bid: Bid, { actor, changes }: Move): Promise<Bid> {
  const status = assertBidAction(action, bid, actor);
  return updateBid(tx, bid.id, join([sql`status = ${status}`, ...(changes ? [changes] : [])]));
}

/**
 * Applies the table's `reject` to all active bids of a locked task, in one statement because there may be hundreds. Returns
 * them, with enough of their notes for `excerptOfBid`.
 */
export function rejectActiveBids(tx: Transaction, taskId: string): Promise<Bid[]> {
  const { from, to } = bidTransitions.reject;
  return tx.query<Bid>(sql`
    UPDATE bids b SET status = ${to}, updated_at = service_now()
    FROM users bidder WHERE b.task_id = ${taskId}::uuid AND b.status = ${from} AND bidder.id = b.bidder_id
    RETURNING ${bidExcerptColumns}`);
}
