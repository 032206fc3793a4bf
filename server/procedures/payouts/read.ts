import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { type PayoutRow, payoutRowColumns, toPayout } from "../../market/payouts/publicRecord.ts";
import { Id } from "../../schemas/common.ts";
import { Payout } from "../../schemas/payout.ts";
import { sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

/** Returns one of the caller's payouts. Another user's is `not_found`. */
export const read = signedIn
  .meta({ rest: { method: "GET", path: "/payouts/{id}" }, summary: "Read a payout", errors: ["not_found"] })
  .input(z.strictObject({ id: Id }))
  .output(z.object({ payout: Payout }))
  .query(async ({ ctx, input }) => {
    const [row] = await ctx.database.query<PayoutRow>(sql`
      SELECT ${payoutRowColumns} FROM payouts p WHERE p.id = ${input.id}::uuid AND p.user_id = ${ctx.userId}::uuid`);
    if (!row) throw new ApiError("not_found");
    return { payout: toPayout(row) };
  });
