import type { resolutions } from "../../schemas/dispute.ts";

interface Division {
  resolution: (typeof resolutions)[number];
  /** In the moderator's request; for a split only. */
  bidderCents?: number | undefined;
  priceCents: number;
}

/**
 * Returns the part of the price that the bidder gets, in cents, or why the moderator's `bidderCents` is refused. Only a
 * split takes it, and must leave each side at least one cent. Source: docs/contract.md "States".
 */
export function decideBidderShare({
  resolution,
  bidderCents,
  priceCents,
}: Division): { refused: null; bidderCents: number } | { refused: string } {
  if (resolution !== "split") {
    if (bidderCents !== undefined) return { refused: "Only a split takes `bidderCents`." };
    return { refused: null, bidderCents: resolution === "release" ? priceCents : 0 };
  }
  if (bidderCents === undefined) return { refused: "A split needs `bidderCents`." };
  if (bidderCents < 1 || bidderCents >= priceCents) {
    return { refused: `The price is ${priceCents} cents: a split gives the bidder 1 to ${priceCents - 1}.` };
  }
  return { refused: null, bidderCents };
}
