import { z } from "zod";
import { bidExcerptColumns, bidExcerptShownTo } from "../../market/bids/records.ts";
import type { BidRecord } from "../../market/fees/ofBid.ts";
import { findTask } from "../../market/tasks/records.ts";
import { idOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { BidExcerpt } from "../../schemas/excerpts.ts";
import { empty, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const listForTask = signedIn
  .meta({
    rest: { method: "GET", path: "/tasks/{id}/bids" },
    summary: "List a task's bids",
    description:
      "Lists a task's bids, newest first: all of them for the task's buyer, only your own for anyone else. `notes` " +
      "are shortened to 500 characters.",
    errors: ["not_found"],
  })
  .input(PageQuery.extend({ id: idOf("task") }).meta({ id: "ListTaskBids" }))
  .output(z.object({ bids: z.array(BidExcerpt).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const task = await findTask(ctx.database, input.id);
    const { rows, nextCursor } = await readPage<BidRecord>(ctx.database, "bids.listForTask", {
      ...input,
      select: sql`SELECT ${bidExcerptColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id`,
      where: sql`b.task_id = ${task.id}::uuid
        ${task.buyerId === ctx.userId ? empty : sql`AND b.bidder_id = ${ctx.userId}::uuid`}`,
    });
    return { bids: rows.map((bid) => bidExcerptShownTo(ctx.userId, bid)), nextCursor };
  });
