import { z } from "zod";
import { bidColumns } from "../../market/bids/records.ts";
import { findTask } from "../../market/tasks/records.ts";
import { Bid } from "../../schemas/bid.ts";
import { Id, NextCursor, nextCursorOf, PageQuery } from "../../schemas/common.ts";
import { empty, sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

/** A task's bids, newest first: all of them for the buyer, for anyone else only their own. */
export const listForTask = signedIn
  .meta({ rest: { method: "GET", path: "/tasks/{id}/bids" }, summary: "List a task's bids", errors: ["not_found"] })
  .input(PageQuery.extend({ id: Id }))
  .output(z.object({ bids: z.array(Bid), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const task = await findTask(ctx.database, input.id);
    const bids = await ctx.database.query<Bid>(sql`
      SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id
      WHERE b.task_id = ${task.id}::uuid
        ${task.buyerId === ctx.userId ? empty : sql`AND b.bidder_id = ${ctx.userId}::uuid`}
        ${input.cursor === undefined ? empty : sql`AND b.created_at < ${input.cursor}::timestamptz`}
      ORDER BY b.created_at DESC LIMIT ${input.limit}`);
    return { bids, nextCursor: nextCursorOf(bids, input.limit) };
  });
