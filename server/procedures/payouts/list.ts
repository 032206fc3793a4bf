import { z } from "zod";
import { failureMessageOf } from "../../market/payouts/failures.ts";
import { type PayoutState, payoutStates } from "../../market/payouts/rules.ts";
import { NextCursor, PageQuery } from "../../schemas/common.ts";
import { Payout } from "../../schemas/payout.ts";
import { sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

type PayoutRow = Omit<Payout, "status" | "failureMessage"> & { state: PayoutState; failureCode: string | null };

/** The caller's payouts, newest first. */
export const list = signedIn
  .meta({ rest: { method: "GET", path: "/payouts" }, summary: "List payouts" })
  .input(PageQuery)
  .output(z.object({ payouts: z.array(Payout), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await readPage<PayoutRow>(ctx.database, "payouts.list", {
      ...input,
      select: sql`
        SELECT p.id, p.amount_cents AS "amountCents", p.state, p.ledger_entry_id AS "pendingLedgerId",
               p.failure_code AS "failureCode", p.created_at AS "createdAt", p.updated_at AS "updatedAt"
        FROM payouts p`,
      where: sql`p.user_id = ${ctx.userId}::uuid`,
    });
    const payouts = rows.map(({ state, failureCode, ...payout }) => ({
      ...payout,
      status: payoutStates[state].status,
      failureMessage: failureMessageOf(failureCode),
    }));
    return { payouts, nextCursor };
  });
