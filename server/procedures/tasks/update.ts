import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { countSpending } from "../../auth/spendLimit.ts";
import { assertUsable, checksWithKeys, judgingAfter, judgingChanges } from "../../market/checks/keys.ts";
import { changeOpenTask, contentEdited } from "../../market/tasks/changeOpenTask.ts";
import { changesContent } from "../../market/tasks/changesContent.ts";
import { assertNotLockedByBids } from "../../market/tasks/lockedByBids.ts";
import { lockTask, type TaskRecord } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { optionalChecks } from "../../schemas/check.ts";
import { idOf } from "../../schemas/common.ts";
import { Task, taskInput } from "../../schemas/task.ts";
import { join, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { refuseOverdraft } from "../../store/ledger.ts";
import { type CallerContext, scoped } from "../../trpc.ts";

export const update = scoped("task:write")
  .meta({
    rest: { method: "PATCH", path: "/tasks/{id}" },
    summary: "Change a task",
    description:
      "Changes an open task of yours: only the fields that you send, and `tags` replaces all tags. A larger budget " +
      "holds the difference, a smaller one returns it to your available money. Budget, revisions and checks are locked " +
      "while a bid is active (`budget_locked_by_bids`, `revisions_locked_by_bids`, `checks_locked_by_bids`). Bidders see in `taskEditedAt` that the text changed after they bid.",
    errors: [
      ...(["budget_locked_by_bids", "revisions_locked_by_bids", "insufficient_funds", "spend_limit"] as const),
      ...(["checks_locked_by_bids", "forbidden", "not_found", "wrong_status"] as const),
      ...approvalErrors,
    ],
  })
  .input(
    z
      .strictObject({
        id: idOf("task"),
        title: taskInput.title.optional(),
        description: taskInput.description.optional(),
        acceptanceCriteria: taskInput.acceptanceCriteria.optional(),
        maxBudgetCents: taskInput.maxBudgetCents.optional(),
        tags: taskInput.tags.optional(),
        revisions: taskInput.revisions.optional(),
        ...optionalChecks,
      })
      .refine(({ id: _, ...changes }) => Object.values(changes).some((value) => value !== undefined), {
        message: "Name at least one field to change.",
      }),
  )
  .output(z.object({ task: Task.meta({ description: "The task, changed." }) }))
  .mutation(async ({ ctx, input }) => {
    await assertUsable(ctx, { checks: input.checks });
    return ctx
      .change(async (tx) => {
        const task = await lockTask(tx, input.id);
        assertTaskAction("update", task, actorOf(task, ctx.userId), momentOf(ctx));
        const judging = judgingAfter(task, input);
        await assertNotLockedByBids(tx, task, { ...input, judging });
        if (input.maxBudgetCents !== undefined) await moveBudget(ctx, tx, task, input.maxBudgetCents);
        // Other checks of a task that they pay for are another way to pay.
        if (input.acceptOnChecks || (input.checks !== undefined && judging.acceptOnChecks !== null))
          mustBeApproved(tx, ctx, {
            amountCents: input.maxBudgetCents ?? task.maxBudgetCents,
            taskId: task.id,
            subjectId: task.id,
          });
        const changes = [
          input.title === undefined ? null : sql`title = ${input.title}`,
          input.description === undefined ? null : sql`description = ${input.description}`,
          input.acceptanceCriteria === undefined
            ? null
            : sql`acceptance_criteria = ${input.acceptanceCriteria || null}`,
          input.maxBudgetCents === undefined ? null : sql`max_budget_cents = ${input.maxBudgetCents}`,
          input.tags === undefined ? null : sql`tags = distinct_tags(${input.tags}::text[])`,
          input.revisions === undefined ? null : sql`revisions = ${input.revisions}`,
          ...judgingChanges(input, judging),
          changesContent(task, input) ? contentEdited : null,
        ].filter((change) => change !== null);
        const updated = await changeOpenTask(tx, task, join(changes));
        return { task: { ...updated, checks: checksWithKeys(updated) } };
      })
      .catch(refuseOverdraft(ctx, "insufficient_funds"));
  });

async function moveBudget(
  ctx: CallerContext,
  tx: Transaction,
  task: TaskRecord,
  maxBudgetCents: number,
): Promise<void> {
  const differenceCents = maxBudgetCents - task.maxBudgetCents;
  if (differenceCents === 0) return;
  const reason = { taskId: task.id };
  if (differenceCents < 0) return tx.ledger.release(task.buyerId, -differenceCents, reason);
  const asks = mustBeApproved(tx, ctx, { amountCents: maxBudgetCents, taskId: task.id, subjectId: task.id });
  await countSpending(tx, ctx, differenceCents, asks);
  tx.ledger.hold(task.buyerId, differenceCents, reason);
}
