import { z } from "zod";
import { findPayoutAccount } from "../../market/payouts/accounts.ts";
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
    description:
      "Lists your payouts, newest first, each with its current status. `bankDetails` says whether one could be requested.",
  })
  .input(PageQuery)
  .output(
    z.object({
      payouts: z.array(Payout).meta({ description: "Newest first." }),
      bankDetails: z.enum(["missing", "incomplete", "complete"]).meta({
        description:
          "`missing`: a person must enter them first, by `POST /payouts/onboarding`. `incomplete`: they are being entered or " +
          "checked. `complete`: payouts work.",
        example: "complete",
      }),
      nextCursor: NextCursor,
    }),
  )
  .query(async ({ ctx, input }) => {
    const [{ rows, nextCursor }, account] = await Promise.all([
      readPage<PayoutRow>(ctx.database, "payouts.list", {
        ...input,
        select: sql`SELECT ${payoutRowColumns} FROM payouts p`,
        where: sql`p.user_id = ${ctx.userId}::uuid`,
      }),
      findPayoutAccount(ctx.database, ctx.userId),
    ]);
    const bankDetails = account?.active ? "complete" : account?.accountId ? "incomplete" : "missing";
    return { payouts: rows.map(toPayout), bankDetails, nextCursor };
  });
