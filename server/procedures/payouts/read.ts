import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { type PayoutRow, payoutRowColumns, toPayout } from "../../market/payouts/publicRecord.ts";
import { idOf } from "../../schemas/common.ts";
import { Payout } from "../../schemas/payout.ts";
import { sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

export const read = signedIn
  .meta({
    rest: { method: "GET", path: "/payouts/{id}" },
    summary: "Read a payout",
    description: "Returns one of your payouts with its current status. Another user's is `not_found`.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("payout") }))
  .output(z.object({ payout: Payout.meta({ description: "The payout." }) }))
  .query(async ({ ctx, input }) => {
    const [row] = await ctx.database.query<PayoutRow>(sql`
      SELECT ${payoutRowColumns} FROM payouts p WHERE p.id = ${input.id}::uuid AND p.user_id = ${ctx.userId}::uuid`);
    if (!row) throw new ApiError("not_found");
    return { payout: toPayout(row) };
  });
