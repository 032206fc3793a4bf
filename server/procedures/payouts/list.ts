import { z } from "zod";
import { failureMessageOf } from "../../market/payouts/failures.ts";
import { type PayoutState, payoutStates } from "../../market/payouts/rules.ts";
import { NextCursor, nextCursorOf, PageQuery } from "../../schemas/common.ts";
import { Payout } from "../../schemas/payout.ts";
import { empty, sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

/** The caller's payouts, newest first. */
export const list = signedIn
  .meta({ rest: { method: "GET", path: "/payouts" }, summary: "List payouts" })
  .input(PageQuery)
  .output(z.object({ payouts: z.array(Payout), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const rows = await ctx.database.query<
      Omit<Payout, "status" | "failureMessage"> & { state: PayoutState; failureCode: string | null }
    >(sql`
      SELECT id, amount_cents AS "amountCents", state, ledger_entry_id AS "pendingLedgerId",
             failure_code AS "failureCode", created_at AS "createdAt", updated_at AS "updatedAt"
      FROM payouts
      WHERE user_id = ${ctx.userId}::uuid ${input.cursor ? sql`AND created_at < ${input.cursor}::timestamptz` : empty}
      ORDER BY created_at DESC LIMIT ${input.limit}`);
    const payouts = rows.map(({ state, failureCode, ...payout }) => ({
      ...payout,
      status: payoutStates[state].status,
      failureMessage: failureMessageOf(failureCode),
    }));
    return { payouts, nextCursor: nextCursorOf(payouts, input.limit) };
  });
