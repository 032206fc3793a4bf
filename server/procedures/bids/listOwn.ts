import { z } from "zod";
import { bidExcerptColumns, bidExcerptShownTo } from "../../market/bids/records.ts";
import type { BidRecord } from "../../market/fees/ofBid.ts";
import { bidStatuses } from "../../schemas/bid.ts";
import { listOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { BidExcerpt } from "../../schemas/excerpts.ts";
import { hidden, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const listOwn = signedIn
  .meta({
    rest: { method: "GET", path: "/bids" },
    summary: "List my bids",
    description:
      "Lists your bids on all tasks, newest first. `notes` are shortened to 500 characters; `GET /bids/{id}` has " +
      "all of them.",
  })
  .input(
    PageQuery.extend({ status: listOf(bidStatuses, "Bids with one of these statuses; all by default.").optional() }),
  )
  .output(z.object({ bids: z.array(BidExcerpt).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await readPage<BidRecord>(ctx.database, "bids.listOwn", {
      ...input,
      select: sql`SELECT ${bidExcerptColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id`,
      where: sql`b.bidder_id = ${hidden(sql`${ctx.userId}::uuid`)}`,
      filter: input.status === undefined ? undefined : sql`b.status = ANY (${input.status}::text[])`,
    });
    return { bids: rows.map((bid) => bidExcerptShownTo(ctx.userId, bid)), nextCursor };
  });
