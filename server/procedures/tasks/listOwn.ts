import { z } from "zod";
import { type TaskRecord, taskColumns } from "../../market/tasks/records.ts";
import { listOf, NextCursor, nextCursorOf, PageQuery } from "../../schemas/common.ts";
import { Task, taskStatuses } from "../../schemas/task.ts";
import { empty, sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

/** The tasks that the caller posted or was awarded, newest first. */
export const listOwn = signedIn
  .meta({ rest: { method: "GET", path: "/me/tasks" }, summary: "List my tasks" })
  .input(
    PageQuery.extend({
      role: z.enum(["buyer", "bidder"]).optional().meta({
        description: "`buyer`: those that I posted; `bidder`: those that I was awarded. Both if it is left out.",
      }),
      status: listOf(taskStatuses).optional(),
    }),
  )
  .output(z.object({ tasks: z.array(Task), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { cursor, limit, role, status } = input;
    // Each role has an index in the feed's order: the newest of either, then the newest of both.
    const newest = (column: ReturnType<typeof sql>) => sql`
      (SELECT * FROM tasks WHERE ${column} = ${ctx.userId}::uuid
        ${status === undefined ? empty : sql`AND status = ANY (${status.split(",")}::text[])`}
        ${cursor === undefined ? empty : sql`AND created_at < ${cursor}::timestamptz`}
       ORDER BY created_at DESC LIMIT ${limit})`;
    const posted = role === "bidder" ? empty : newest(sql`buyer_id`);
    const awarded = role === "buyer" ? empty : newest(sql`awarded_bidder_id`);
    const tasks = await ctx.database.query<TaskRecord>(sql`
      SELECT ${taskColumns}
      FROM (${posted} ${role === undefined ? sql`UNION ALL` : empty} ${awarded}) t JOIN users buyer ON buyer.id = t.buyer_id
      ORDER BY t.created_at DESC LIMIT ${limit}`);
    return { tasks, nextCursor: nextCursorOf(tasks, limit) };
  });
