import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";

/** A bid changes only while it is active, and only by its owner. Source: interface.md "States and transitions". */
export function decideBidChange(bid: Bid, userId: string): void {
  if (bid.bidder.id !== userId) throw new ApiError("forbidden", { message: "This is not your bid." });
  if (bid.status !== "active") {
    throw new ApiError("wrong_status", { message: `The bid is ${bid.status}; this needs it to be active.` });
  }
}
