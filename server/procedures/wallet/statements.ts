import { z } from "zod";
import { readStatements } from "../../market/papers/statements.ts";
import { NextCursor, PageQuery } from "../../schemas/common.ts";
import { Statement } from "../../schemas/statement.ts";
import { signedIn } from "../../trpc.ts";

export const statements = signedIn
  .meta({
    rest: { method: "GET", path: "/wallet/statements" },
    summary: "List my statements",
    description:
      "Lists the months of your wallet, newest first, from the first entry of your ledger to the current month, which is not " +
      "over. Each opens with what the month before closed with, and its sums are those of the ledger's entries.",
  })
  .input(PageQuery.meta({ id: "ListStatements" }))
  .output(
    z
      .object({ statements: z.array(Statement).meta({ description: "Newest first." }), nextCursor: NextCursor })
      .meta({ id: "ListStatementsResponse", description: "A page of statements." }),
  )
  .query(({ ctx, input }) =>
    readStatements(ctx.database, ctx.userId, { ...input, timeZone: ctx.settings.operatorTimeZone }),
  );
