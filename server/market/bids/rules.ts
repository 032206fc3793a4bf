import { ApiError } from "../../errors.ts";
import type { Bid, BidStatus } from "../../schemas/bid.ts";

/** Who acts on a bid: its owner, the task's buyer, or any other user. */
export const bidActors = ["owner", "buyer", "stranger"] as const;
export type BidActor = (typeof bidActors)[number];

/**
 * The state machine of a bid. The buyer awards one bid; awarding or cancelling the task rejects the ones that are still
 * active, so the task of an active bid is always open. Source: docs/contract.md "States".
 */
export const bidTransitions = {
  update: { by: "owner", from: "active", to: "active", refusal: "wrong_status" },
  withdraw: { by: "owner", from: "active", to: "withdrawn", refusal: "wrong_status" },
  award: { by: "buyer", from: "active", to: "awarded", refusal: "bid_invalid" },
  reject: { by: "buyer", from: "active", to: "rejected", refusal: "wrong_status" },
} as const satisfies Record<string, { by: BidActor; from: BidStatus; to: BidStatus; refusal: string }>;

export type BidAction = keyof typeof bidTransitions;

/** Looks an action up in the table: the next status, or the refusal's code. The actor is checked before the status. */
export function decideBid(action: BidAction, status: BidStatus, actor: BidActor) {
  const { by, from, to, refusal } = bidTransitions[action];
  if (actor !== by) return { refused: "forbidden" } as const;
  return status === from ? ({ refused: null, to } as const) : ({ refused: refusal } as const);
}

/** Returns a user's role in a bid when they do not act as the buyer. */
export function bidActorOf(bid: Bid, userId: string): BidActor {
  return bid.bidder.id === userId ? "owner" : "stranger";
}

/** Returns the next status. Throws the refusal of `decideBid` as an `ApiError`. */
export function assertBidAction(action: BidAction, bid: Bid, actor: BidActor): BidStatus {
  const decision = decideBid(action, bid.status, actor);
  switch (decision.refused) {
    case null:
      return decision.to;
    case "forbidden":
      throw new ApiError("forbidden", { message: "This is not your bid." });
    case "bid_invalid":
      throw new ApiError("bid_invalid");
    case "wrong_status": {
      const { from, to } = bidTransitions[action];
      const message =
        bid.status === to
          ? `This has been done already: the bid is ${to}.`
          : `The bid is ${bid.status}; it must be ${from} for this.`;
      throw new ApiError("wrong_status", { message });
    }
  }
}
