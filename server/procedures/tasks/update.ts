import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { lockTask, type TaskRecord, updateTask } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { Id } from "../../schemas/common.ts";
import { Task, taskInput } from "../../schemas/task.ts";
import { join, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { refuseOverdraft } from "../../store/databaseErrors.ts";
import { scoped } from "../../trpc.ts";

/**
 * Changes an open task. A new budget moves the difference between the buyer's buckets, and requires that no bid is
 * active.
 */
export const update = scoped("task:write")
  .meta({
    rest: { method: "PATCH", path: "/tasks/{id}" },
    summary: "Change a task",
    errors: ["budget_locked_by_bids", "insufficient_funds", "forbidden", "not_found", "wrong_status"],
  })
  .input(
    z
      .strictObject({
        id: Id,
        title: taskInput.title.optional(),
        description: taskInput.description.optional(),
        acceptanceCriteria: taskInput.acceptanceCriteria.optional(),
        maxBudgetCents: taskInput.maxBudgetCents.optional(),
        tags: taskInput.tags.optional(),
      })
      .refine(({ id: _, ...changes }) => Object.values(changes).some((value) => value !== undefined), {
        message: "Name at least one field to change.",
      }),
  )
  .output(z.object({ task: Task }))
  .mutation(({ ctx, input }) =>
    ctx.database
      .transaction(async (tx) => {
        const task = await lockTask(tx, input.id);
        assertTaskAction("update", task, actorOf(task, ctx.userId), momentOf(ctx));
        if (input.maxBudgetCents !== undefined) await moveBudget(tx, task, input.maxBudgetCents);
        const changes = [
          input.title === undefined ? null : sql`title = ${input.title}`,
          input.description === undefined ? null : sql`description = ${input.description}`,
          input.acceptanceCriteria === undefined
            ? null
            : sql`acceptance_criteria = ${input.acceptanceCriteria || null}`,
          input.maxBudgetCents === undefined ? null : sql`max_budget_cents = ${input.maxBudgetCents}`,
          input.tags === undefined ? null : sql`tags = distinct_tags(${input.tags}::text[])`,
        ].filter((change) => change !== null);
        return { task: await updateTask(tx, task.id, join(changes)) };
      })
      .catch(refuseOverdraft("insufficient_funds")),
  );

async function moveBudget(tx: Transaction, task: TaskRecord, maxBudgetCents: number): Promise<void> {
  const differenceCents = maxBudgetCents - task.maxBudgetCents;
  if (differenceCents === 0) return;
  // The task's lock keeps out new bids, so the result stays true until the commit.
  const [bid] = await tx.query(sql`SELECT 1 FROM bids WHERE task_id = ${task.id}::uuid AND status = 'active' LIMIT 1`);
  if (bid) throw new ApiError("budget_locked_by_bids");
  const reason = { taskId: task.id };
  if (differenceCents > 0) await tx.ledger.hold(task.buyerId, differenceCents, reason);
  else await tx.ledger.release(task.buyerId, -differenceCents, reason);
}
