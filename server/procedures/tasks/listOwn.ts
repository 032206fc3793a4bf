import { z } from "zod";
import { hasTag } from "../../market/search/filters.ts";
import { hasStatusAt, taskListColumns } from "../../market/tasks/records.ts";
import { momentOf, taskAt } from "../../market/tasks/rules.ts";
import { listOf, NextCursor, PageQuery, Price, Timestamp, text } from "../../schemas/common.ts";
import { Task, TaskListItem, taskStatuses } from "../../schemas/task.ts";
import { empty, type Sql, sql } from "../../store/connection.ts";
import { nextCursorOf, pageStatement } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

const OwnTask = TaskListItem.extend({
  priceCents: Price.nullable().meta({ description: "What the awarded bid costs.", example: null }),
  deliveryDueAt: Task.shape.deliveryDueAt,
  deliveredAt: Task.shape.deliveredAt,
  acceptanceDeadlineAt: Task.shape.acceptanceDeadlineAt,
  proposalExpiresAt: Timestamp.nullable().prefault(null).meta({
    description: "When the other side's proposal of an agreement lapses; null if none waits for you.",
    example: null,
  }),
}).meta({ id: "OwnTask", description: "A task of yours as lists show it, with the money and the time at stake." });

/** @param other the side that is not the caller */
const columnsBeside = (other: "buyer" | "bidder", now: Date) => sql`${taskListColumns},
  (SELECT price_cents FROM bids WHERE id = t.awarded_bid_id) AS "priceCents",
  t.delivery_due_at AS "deliveryDueAt", t.acceptance_deadline_at AS "acceptanceDeadlineAt",
  t.delivered_at AS "deliveredAt",
  (SELECT a.expires_at FROM agreements a
   WHERE a.task_id = t.id AND a.status = 'pending' AND a.proposed_by = ${other}
     AND a.expires_at > ${now.toISOString()}::timestamptz) AS "proposalExpiresAt"`;

export const listOwn = signedIn
  .meta({
    rest: { method: "GET", path: "/me/tasks" },
    summary: "List my tasks",
    description:
      "Lists the tasks that you posted or were awarded, newest first. `GET /tasks/{id}` has all fields of one.",
  })
  .input(
    PageQuery.extend({
      role: z
        .enum(["buyer", "bidder"])
        .meta({
          description: "`buyer`: tasks that you posted. `bidder`: tasks that you were awarded. Both by default.",
          example: "buyer",
        })
        .optional(),
      status: listOf(taskStatuses, "Tasks with one of these statuses; all by default.").optional(),
      tag: text(1, 160)
        .meta({ description: "Tasks that have this tag, in any case.", example: "translation" })
        .optional(),
    }),
  )
  .output(z.object({ tasks: z.array(OwnTask).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { cursor, limit, role, status } = input;
    const moment = momentOf(ctx);
    const tag = input.tag?.trim();
    // Each role has its own index, so this reads a page for each and keeps the newest rows of both.
    const pageOf = (party: Sql, other: "buyer" | "bidder") =>
      sql`(${pageStatement(
        "tasks.listOwn",
        sql`SELECT ${columnsBeside(other, moment.now)} FROM tasks t`,
        sql`${party} = ${ctx.userId}::uuid
        ${status === undefined ? empty : sql`AND ${hasStatusAt(status, moment.now)}`}
        ${tag === undefined ? empty : hasTag(tag)}`,
        { cursor, limit },
      )})`;
    const posted = role === "bidder" ? empty : pageOf(sql`t.buyer_id`, "bidder");
    const awarded = role === "buyer" ? empty : pageOf(sql`t.awarded_bidder_id`, "buyer");
    const tasks = await ctx.database.query<z.infer<typeof OwnTask>>(sql`
      SELECT * FROM (${posted} ${role === undefined ? sql`UNION ALL` : empty} ${awarded}) own
      ORDER BY "createdAt" DESC LIMIT ${limit}`);
    return { tasks: tasks.map((task) => taskAt(task, moment)), nextCursor: nextCursorOf(tasks, limit) };
  });
