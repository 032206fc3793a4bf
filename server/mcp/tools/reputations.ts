import type { Reputation } from "../../schemas/reputation.ts";
import { toApiError } from "../../translateErrors.ts";
import { count } from "../text.ts";
import type { Api } from "../tool.ts";

/** Returns a user's reputation, or null for an account that was closed. */
export async function reputationOf(api: Api, userId: string): Promise<Reputation | null> {
  return api.users.reputation({ id: userId }).catch((error: unknown) => {
    if (toApiError(error).code === "not_found") return null;
    throw error;
  });
}

const stars = ({ ratingCount, ratingAverage }: { ratingCount: number; ratingAverage: number | null }) =>
  ratingAverage === null ? "not rated yet" : `${ratingAverage} of 5 stars in ${count(ratingCount, "rating")}`;

/** What a buyer's past says, in words. */
export function wordsOfBuyer(reputation: Reputation | null): string {
  const buyer = reputation?.buyer ?? null;
  if (buyer === null) return "nothing posted yet";
  return (
    `${count(buyer.tasksPosted, "task")} posted, ${buyer.tasksAccepted} accepted, ${count(buyer.disputes, "dispute")} ` +
    `(${buyer.disputesLost} lost), ${stars(buyer)}`
  );
}

/** What a bidder's past says, in words. */
export function wordsOfBidder(reputation: Reputation | null): string {
  const bidder = reputation?.bidder ?? null;
  if (bidder === null) return "nothing awarded yet";
  const givenBack = bidder.tasksGivenBack === 0 ? "" : `${bidder.tasksGivenBack} given back, `;
  const onTime = bidder.onTimeRate === null ? "" : `${Math.round(bidder.onTimeRate * 100)} % on time, `;
  return (
    `${count(bidder.tasksAwarded, "task")} awarded, ${bidder.tasksAccepted} accepted, ${givenBack}${onTime}` +
    `${count(bidder.disputes, "dispute")} (${bidder.disputesLost} lost), ${stars(bidder)}`
  );
}
