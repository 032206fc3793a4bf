import { z } from "zod";
import { sql } from "../../db/connection.ts";
import { Delivery, Sample } from "../../schemas/artifact.ts";
import { Bid } from "../../schemas/bid.ts";
import { Id } from "../../schemas/common.ts";
import { Task, TaskListItem } from "../../schemas/task.ts";
import { open } from "../../trpc.ts";
import { bidColumns } from "../bids/records.ts";
import { readArtifacts } from "../uploads/records.ts";
import { findTask } from "./records.ts";

const PublicTask = TaskListItem.extend({ description: z.string() }).meta({ id: "PublicTask" });

const MAX_BIDS = 100;

/**
 * One task, as much of it as the caller may see: anonymous callers get the public fields, signed-in callers all task
 * fields and their own bids, the buyer the newest 100 bids, and the two parties also samples and deliveries.
 */
export const read = open
  .meta({ rest: { method: "GET", path: "/tasks/{id}" }, summary: "Read a task", errors: ["not_found"] })
  .input(z.strictObject({ id: Id }))
  .output(
    z.object({
      task: z.union([Task, PublicTask]),
      bids: z.array(Bid).optional(),
      samples: z.array(Sample).optional(),
      deliveries: z.array(Delivery).optional(),
    }),
  )
  .query(async ({ ctx, input }) => {
    const task = await findTask(ctx.database, input.id);
    const userId = ctx.principal?.userId;
    if (userId === undefined) return { task: PublicTask.parse(task) };

    const isBuyer = task.buyerId === userId;
    const bids = await ctx.database.query<Bid>(sql`
      SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id
      WHERE b.task_id = ${task.id}::uuid AND (${isBuyer} OR b.bidder_id = ${userId}::uuid)
      ORDER BY b.created_at DESC LIMIT ${MAX_BIDS}`);
    if (!isBuyer && task.awardedBidderId !== userId) return { task, bids };

    return { task, bids, ...(await readArtifacts(ctx, task.id)) };
  });
