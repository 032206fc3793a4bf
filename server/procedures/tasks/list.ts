import { z } from "zod";
import { empty, sql } from "../../db/connection.ts";
import { listOf, MAX_INT32, NextCursor, nextCursorOf, PageQuery, text } from "../../schemas/common.ts";
import { TaskListItem, taskStatuses } from "../../schemas/task.ts";
import { open } from "../../trpc.ts";
import { taskListColumns } from "./records.ts";

const Budget = z.int().min(0).max(MAX_INT32);

/** The characters that LIKE would read as wildcards are what they look like: the search is literal. */
const literalPattern = (query: string) => `%${query.replace(/[\\%_]/g, "\\$&")}%`;

/** The public feed, newest first; all filters are combined with AND. */
export const list = open
  .meta({ rest: { method: "GET", path: "/tasks" }, summary: "Search tasks" })
  .input(
    PageQuery.extend({
      status: listOf(taskStatuses).default("open"),
      tag: z.string().min(1).max(160).meta({ description: "Tasks that have this tag." }).optional(),
      query: text(2, 80).meta({ description: "2 to 80 characters that stand in the title, in any case." }).optional(),
      minBudget: Budget.meta({ description: "Integer cents, inclusive." }).optional(),
      maxBudget: Budget.meta({ description: "Integer cents, inclusive." }).optional(),
    }),
  )
  .output(z.object({ tasks: z.array(TaskListItem), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const tag = input.tag?.trim().toLowerCase();
    const statuses = [...new Set(input.status.split(","))];
    const filters = [input.tag, input.query, input.minBudget, input.maxBudget].filter((value) => value !== undefined);
    const isSearch = filters.length > 0 || statuses.length > 1;
    const statement = sql`
      SELECT ${taskListColumns} FROM tasks t
      WHERE ${statuses.length === 1 ? sql`t.status = ${statuses[0]}` : sql`t.status = ANY (${statuses}::text[])`}
        ${tag === undefined ? empty : sql`AND t.tags @> ARRAY[${tag}]`}
        ${input.query === undefined ? empty : sql`AND lower(t.title) LIKE lower(${literalPattern(input.query)})`}
        ${input.minBudget === undefined ? empty : sql`AND t.max_budget_cents >= ${input.minBudget}`}
        ${input.maxBudget === undefined ? empty : sql`AND t.max_budget_cents <= ${input.maxBudget}`}
        ${input.cursor === undefined ? empty : sql`AND t.created_at < ${input.cursor}::timestamptz`}
      ORDER BY t.created_at DESC LIMIT ${input.limit}`;
    const tasks = await ctx.database.query<TaskListItem>(statement, { plan: isSearch ? "fresh" : "cached" });
    return { tasks, nextCursor: nextCursorOf(tasks, input.limit) };
  });
