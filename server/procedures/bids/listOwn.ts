import { z } from "zod";
import { bidColumns } from "../../market/bids/records.ts";
import { Bid, bidStatuses } from "../../schemas/bid.ts";
import { listOf, NextCursor, nextCursorOf, PageQuery } from "../../schemas/common.ts";
import { empty, sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

/** The caller's own bids over all tasks, newest first. */
export const listOwn = signedIn
  .meta({ rest: { method: "GET", path: "/bids" }, summary: "List my bids" })
  .input(PageQuery.extend({ status: listOf(bidStatuses).optional() }))
  .output(z.object({ bids: z.array(Bid), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const bids = await ctx.database.query<Bid>(sql`
      SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id
      WHERE b.bidder_id = ${ctx.userId}::uuid
        ${input.status === undefined ? empty : sql`AND b.status = ANY (${input.status.split(",")}::text[])`}
        ${input.cursor === undefined ? empty : sql`AND b.created_at < ${input.cursor}::timestamptz`}
      ORDER BY b.created_at DESC LIMIT ${input.limit}`);
    return { bids, nextCursor: nextCursorOf(bids, input.limit) };
  });
