import { z } from "zod";
import { searchTasks } from "../../market/search/search.ts";
import { listOf, MAX_INT32, NextCursor, PageQuery, text } from "../../schemas/common.ts";
import { TaskListItem, taskStatuses } from "../../schemas/task.ts";
import type { Connection } from "../../store/connection.ts";
import { nextCursorOf } from "../../store/cursorLists.ts";
import { anyone } from "../../trpc.ts";

const Budget = z.int().min(0).max(MAX_INT32);

export const list = anyone
  .meta({
    rest: { method: "GET", path: "/tasks" },
    summary: "Search tasks",
    description:
      "Searches the public feed, newest first. A task must match all filters; without `status`, only open tasks are " +
      "found. You need not be signed in.",
    sharesAnswers: true,
  })
  .input(
    PageQuery.extend({
      status: listOf(taskStatuses, "Tasks with one of these statuses; open ones by default.").prefault(["open"]),
      tag: text(1, 160)
        .meta({ description: "Tasks that have this tag, in any case.", example: "translation" })
        .optional(),
      query: text(2, 80)
        .meta({ description: "A text that the title contains, in any case.", example: "pages" })
        .optional(),
      minBudget: Budget.meta({
        description: "The lowest maximum budget, in integer cents, inclusive.",
        example: 1_000,
      }).optional(),
      maxBudget: Budget.meta({
        description: "The highest maximum budget, in integer cents, inclusive.",
        example: 50_000,
      }).optional(),
    }),
  )
  .output(z.object({ tasks: z.array(TaskListItem).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { query, minBudget: minBudgetCents, maxBudget: maxBudgetCents, cursor, limit } = input;
    const statuses = taskStatuses.filter((status) => input.status.includes(status));
    const tag = input.tag?.trim();
    const search = { statuses, tag, query, minBudgetCents, maxBudgetCents, cursor, limit };
    const work = (connection: Connection) => searchTasks(connection, search);
    const page = { page: JSON.stringify(search), cursor, work };
    const tasks = ctx.principal === null ? await ctx.publicReads.read(page) : await work(ctx.database);
    return { tasks, nextCursor: nextCursorOf(tasks, limit) };
  });
