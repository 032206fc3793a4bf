import { z } from "zod";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, momentOf } from "../../market/tasks/rules.ts";
import { idOf } from "../../schemas/common.ts";
import { declineReason } from "../../schemas/round.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const declineChanges = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/decline-changes" },
    summary: "Decline the changes that the buyer asks for",
    description:
      "Declines to change the delivery of a task that was awarded to you: it becomes `delivered` again, and the buyer has a new " +
      "window to accept or dispute what you delivered. Without either, you are paid at `acceptanceDeadlineAt`. To change it " +
      "instead, deliver again.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("task"), reason: declineReason }))
  .output(z.object({ task: Task.meta({ description: "The task, delivered again." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, input.id);
      const declined = { by: "bidder", reason: input.reason } as const;
      const move = { actor: actorOf(task, ctx.userId), moment: momentOf(ctx), details: declined, declined };
      return { task: await moveTask(tx, "declineChanges", task, move) };
    }),
  );
