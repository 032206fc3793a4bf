import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { countSpending } from "../../auth/spendLimit.ts";
import { assertCanAccept, assertUsable, checksWithKeys, storedChecks } from "../../market/checks/keys.ts";
import { type TaskRecord, taskColumns } from "../../market/tasks/records.ts";
import { checkSpamGuard, hashOfText } from "../../market/tasks/spamGuard.ts";
import { optionalChecks } from "../../schemas/check.ts";
import { Task, taskInput } from "../../schemas/task.ts";
import { inOrder, queryOne, sql } from "../../store/connection.ts";
import { refuseOverdraft } from "../../store/ledger.ts";
import { assertCallerActive } from "../../store/userLock.ts";
import { scoped } from "../../trpc.ts";

export const create = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks", status: 201 },
    summary: "Post a task",
    description:
      "Posts a task, which is then `open` for bids. Its whole maximum budget moves from the available to the held " +
      "bucket of your wallet; if too little is available, the answer is `insufficient_funds` and nothing is posted. " +
      "The hold shrinks to the bid's price when you award the task, and returns when you cancel it. Send an " +
      "`Idempotency-Key`, so that a repeat after a lost response does not post a second task.",
    errors: ["insufficient_funds", "spend_limit", "spam_guard", ...approvalErrors],
  })
  .input(
    z.strictObject({
      title: taskInput.title,
      description: taskInput.description,
      acceptanceCriteria: taskInput.acceptanceCriteria.optional(),
      maxBudgetCents: taskInput.maxBudgetCents,
      tags: taskInput.tags,
      revisions: taskInput.revisions.optional(),
      ...optionalChecks,
    }),
  )
  .output(z.object({ task: Task.meta({ description: "The new task." }) }))
  .mutation(async ({ ctx, input }) => {
    const { checks = [], acceptOnChecks = null } = input;
    assertCanAccept(checks, acceptOnChecks);
    await assertUsable(ctx, checks);
    const stored = storedChecks(checks);
    const textHash = hashOfText(input);
    return ctx
      .change(async (tx) => {
        // The guard's statements run before the task's, and so do not count it.
        const [, , task] = await inOrder(
          () => assertCallerActive(tx, ctx.userId),
          async () => ctx.settings.spamGuard && checkSpamGuard(tx, ctx.userId, textHash),
          () =>
            queryOne<TaskRecord>(
              tx,
              sql`
          WITH t AS (
            INSERT INTO tasks (buyer_id, title, description, acceptance_criteria, max_budget_cents, tags, revisions,
                               checks, check_keys, accept_after_minutes, posted_text_hash)
            VALUES (${ctx.userId}::uuid, ${input.title}, ${input.description}, ${input.acceptanceCriteria || null},
                    ${input.maxBudgetCents}, distinct_tags(${input.tags}::text[]), ${input.revisions ?? 0},
                    ${JSON.stringify(stored.checks)}::jsonb, ${JSON.stringify(stored.checkKeys)}::jsonb,
                    ${acceptOnChecks?.afterMinutes ?? null}::smallint, ${textHash}::bigint)
            RETURNING *)
          SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id`,
            ),
        );
        const asks = mustBeApproved(tx, ctx, { amountCents: task.maxBudgetCents });
        await countSpending(tx, ctx, task.maxBudgetCents, asks);
        tx.ledger.hold(ctx.userId, task.maxBudgetCents, { taskId: task.id });
        tx.events.record("task.created", { task }, "everyone");
        return { task: { ...task, checks: checksWithKeys(task) } };
      })
      .catch(refuseOverdraft(ctx, "insufficient_funds"));
  });
