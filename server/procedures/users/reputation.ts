import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { isClosed } from "../../market/accounts/close.ts";
import { readReputations } from "../../market/reputation.ts";
import { idOf } from "../../schemas/common.ts";
import { Reputation } from "../../schemas/reputation.ts";
import type { Connection } from "../../store/connection.ts";
import { anyone } from "../../trpc.ts";

export const reputation = anyone
  .meta({
    rest: { method: "GET", path: "/users/{id}/reputation" },
    summary: "Read a user's reputation",
    description:
      "Returns a user's reputation as buyer and as bidder, counted from their tasks, disputes and ratings. A side " +
      "without activity is null. You need not be signed in; the name is only for those who are. A closed account is " +
      "`not_found`.",
    rateGroup: "publicRead",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("user") }).meta({ id: "ReadReputation" }))
  .output(Reputation)
  .query(async ({ ctx, input }) => {
    const work = async (connection: Connection) => {
      const [reputation] = await readReputations(connection, [input.id]);
      // What a closed account did counts in the disputes of those who dealt with it, and nowhere else.
      if (!reputation || (await isClosed(connection, input.id))) throw new ApiError("not_found");
      return reputation;
    };
    const page = { page: `reputation ${input.id}`, work };
    const found = ctx.principal === null ? await ctx.publicReads.read(page) : await work(ctx.database);
    const { displayName, ...counted } = found;
    return ctx.principal === null ? counted : { ...counted, displayName };
  });
