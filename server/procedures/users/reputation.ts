import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { isClosed } from "../../market/accounts/close.ts";
import { readReputations } from "../../market/reputation.ts";
import { Id } from "../../schemas/common.ts";
import { Reputation } from "../../schemas/reputation.ts";
import { open } from "../../trpc.ts";

/** Returns a user's reputation as buyer and as bidder, counted from their tasks, disputes and ratings. */
export const reputation = open
  .meta({
    rest: { method: "GET", path: "/users/{id}/reputation" },
    summary: "Read a user's reputation",
    rateGroup: "publicRead",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: Id }))
  .output(Reputation)
  .query(async ({ ctx, input }) => {
    const [found] = await readReputations(ctx.database, [input.id]);
    // What a closed account did counts for those who dealt with it, in their disputes, and for nobody else.
    if (!found || (await isClosed(ctx.database, input.id))) throw new ApiError("not_found");
    return found;
  });
