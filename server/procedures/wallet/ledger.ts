import { z } from "zod";
import { NextCursor, nextCursorOf, PageQuery } from "../../schemas/common.ts";
import { LedgerEntry } from "../../schemas/ledgerEntry.ts";
import { empty, sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

/** Every movement in the caller's two buckets, newest first. */
export const ledger = signedIn
  .meta({ rest: { method: "GET", path: "/wallet/ledger" }, summary: "List ledger entries" })
  .input(PageQuery)
  .output(z.object({ entries: z.array(LedgerEntry), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const entries = await ctx.database.query<LedgerEntry>(sql`
      SELECT e.id, e.user_id AS "userId", e.kind, e.bucket, e.amount_cents AS "amountCents", t.task_id AS "taskId",
             t.bid_id AS "bidId", t.external_ref AS "externalRef", e.created_at AS "createdAt"
      FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
      WHERE e.user_id = ${ctx.userId}::uuid AND e.bucket IN ('available', 'held')
        ${input.cursor ? sql`AND e.created_at < ${input.cursor}::timestamptz` : empty}
      ORDER BY e.created_at DESC LIMIT ${input.limit}`);
    return { entries, nextCursor: nextCursorOf(entries, input.limit) };
  });
