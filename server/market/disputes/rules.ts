import type { Principal } from "../../auth/principal.ts";
import { ApiError } from "../../errors.ts";
import type { resolutions } from "../../schemas/dispute.ts";
import type { DisputeReader } from "./records.ts";

/** A moderator's session reads every dispute; a key, even a moderator's, and anyone else those of their own tasks. */
export function disputeReader(principal: Principal): DisputeReader {
  const isModerator = principal.kind === "session" && principal.moderator;
  return { partyId: isModerator ? null : principal.userId };
}

interface Decision {
  resolution: (typeof resolutions)[number];
  bidderCents?: number | undefined;
  priceCents: number;
}

/** What the bidder gets, in cents. Only a split names a share, and it leaves something to both. Source: decisions.md "States". */
export function bidderShare({ resolution, bidderCents, priceCents }: Decision): number {
  const refuse = (message: string) => new ApiError("invalid_input", { issues: [{ path: "bidderCents", message }] });
  if (resolution !== "split") {
    if (bidderCents !== undefined) throw refuse("Only a split takes this.");
    return resolution === "release" ? priceCents : 0;
  }
  if (bidderCents === undefined) throw refuse("A split needs this.");
  if (bidderCents < 1 || bidderCents >= priceCents) {
    throw refuse(`The price is ${priceCents} cents: a split gives the bidder 1 to ${priceCents - 1}.`);
  }
  return bidderCents;
}
