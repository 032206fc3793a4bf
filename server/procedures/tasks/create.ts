import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { countSpending } from "../../auth/spendLimit.ts";
import { assertUsable, checksWithKeys, storedChecks } from "../../market/checks/keys.ts";
import { insertTask } from "../../market/tasks/insertTask.ts";
import { CreateTask, Task } from "../../schemas/task.ts";
import { refuseOverdraft } from "../../store/ledger.ts";
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
  .input(CreateTask)
  .output(z.object({ task: Task.meta({ description: "The new task." }) }))
  .mutation(async ({ ctx, input }) => {
    await assertUsable(ctx, input);
    return ctx
      .change(async (tx) => {
        const task = await insertTask(tx, ctx, input, storedChecks(input.checks));
        const asks = mustBeApproved(tx, ctx, { amountCents: task.maxBudgetCents });
        await countSpending(tx, ctx, task.maxBudgetCents, asks);
        tx.ledger.hold(ctx.userId, task.maxBudgetCents, { taskId: task.id });
        tx.events.record("task.created", { task }, "everyone");
        return { task: { ...task, checks: checksWithKeys(task) } };
      })
      .catch(refuseOverdraft(ctx, "insufficient_funds"));
  });
