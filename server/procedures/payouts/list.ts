import { z } from "zod";
import { type PayoutRow, payoutRowColumns, toPayout } from "../../market/payouts/publicRecord.ts";
import { NextCursor, PageQuery } from "../../schemas/common.ts";
import { Payout } from "../../schemas/payout.ts";
import { sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/payouts" },
    summary: "List my payouts",
    description: "Lists your payouts, newest first, each with its current status.",
  })
  .input(PageQuery)
  .output(z.object({ payouts: z.array(Payout).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await readPage<PayoutRow>(ctx.database, "payouts.list", {
      ...input,
      select: sql`SELECT ${payoutRowColumns} FROM payouts p`,
      where: sql`p.user_id = ${ctx.userId}::uuid`,
    });
    return { payouts: rows.map(toPayout), nextCursor };
  });
