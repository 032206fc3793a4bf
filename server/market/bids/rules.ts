import { ApiError } from "../../errors.ts";
import type { Bid, BidStatus } from "../../schemas/bid.ts";

/** Who acts on a bid: its owner, the task's buyer, or any other user. */
export const bidActors = ["owner", "buyer", "stranger"] as const;
export type BidActor = (typeof bidActors)[number];

/**
 * THE state machine of a bid. `award`, and `reject` of the other bids, are what awarding or cancelling the task does;
 * an active bid has an open task, therefore. Source: interface.md "States and transitions", decisions.md "States".
 */
export const bidTransitions = {
  update: { by: "owner", from: "active", to: "active", refusal: "wrong_status" },
  withdraw: { by: "owner", from: "active", to: "withdrawn", refusal: "wrong_status" },
  award: { by: "buyer", from: "active", to: "awarded", refusal: "bid_invalid" },
  reject: { by: "buyer", from: "active", to: "rejected", refusal: "wrong_status" },
} as const satisfies Record<string, { by: BidActor; from: BidStatus; to: BidStatus; refusal: string }>;

export type BidAction = keyof typeof bidTransitions;

/** What the table says of an action: the next status, or the code that refuses. Who may not is told so first. */
export function decideBid(action: BidAction, status: BidStatus, actor: BidActor) {
  const { by, from, to, refusal } = bidTransitions[action];
  if (actor !== by) return { refused: "forbidden" } as const;
  return status === from ? ({ refused: null, to } as const) : ({ refused: refusal } as const);
}

/** A bid changes only while it is active, and only by its owner; gives the status that it has then. */
export function decideBidChange(action: "update" | "withdraw", bid: Bid, userId: string): BidStatus {
  const decision = decideBid(action, bid.status, bid.bidder.id === userId ? "owner" : "stranger");
  if (decision.refused === null) return decision.to;
  throw new ApiError(decision.refused, {
    message:
      decision.refused === "forbidden"
        ? "This is not your bid."
        : `The bid is ${bid.status}; this needs it to be ${bidTransitions[action].from}.`,
  });
}
