import type { FeeTerms } from "../../schemas/fee.ts";

/** 100 %, in basis points. */
const WHOLE = 10_000;

/**
 * The fee of a price, in integer cents: the share of it, rounded down in the bidder's favour, then at least the minimum, at most
 * the maximum, and at most the price. Source: docs/contract.md "The platform's fee".
 */
export function feeOf(priceCents: number, { basisPoints, minCents, maxCents }: FeeTerms): number {
  const share = Math.floor((priceCents * basisPoints) / WHOLE);
  return Math.min(Math.max(share, minCents), maxCents ?? priceCents, priceCents);
}

/** What a bid froze when its price was set: the terms, and what they take of the whole price. */
export interface FrozenFee extends FeeTerms {
  feeCents: number;
}

/**
 * The fee of what a bidder is paid of a price. The whole price has the frozen fee, however it comes to be paid. Of a part, both
 * sides know the minimum when they settle; a moderator's split is without it, since neither chose the part.
 */
export function feeOfPayment(
  { paidCents, priceCents }: { paidCents: number; priceCents: number },
  part: "agreed" | "decided",
  frozen: FrozenFee | null,
): number {
  if (frozen === null) return 0;
  if (paidCents === priceCents) return frozen.feeCents;
  return feeOf(paidCents, part === "agreed" ? frozen : { ...frozen, minCents: 0 });
}
