import { z } from "zod";
import { bidExcerptColumns } from "../../market/bids/records.ts";
import { findTask } from "../../market/tasks/records.ts";
import type { Bid } from "../../schemas/bid.ts";
import { Id, NextCursor, PageQuery } from "../../schemas/common.ts";
import { BidExcerpt, excerptOfBid } from "../../schemas/excerpts.ts";
import { empty, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

/** A task's bids, newest first. The buyer sees all of them, anyone else only their own. */
export const listForTask = signedIn
  .meta({ rest: { method: "GET", path: "/tasks/{id}/bids" }, summary: "List a task's bids", errors: ["not_found"] })
  .input(PageQuery.extend({ id: Id }))
  .output(z.object({ bids: z.array(BidExcerpt), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const task = await findTask(ctx.database, input.id);
    const { rows, nextCursor } = await readPage<Bid>(ctx.database, "bids.listForTask", {
      ...input,
      select: sql`SELECT ${bidExcerptColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id`,
      where: sql`b.task_id = ${task.id}::uuid
        ${task.buyerId === ctx.userId ? empty : sql`AND b.bidder_id = ${ctx.userId}::uuid`}`,
    });
    return { bids: rows.map(excerptOfBid), nextCursor };
  });
