import { z } from "zod";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, momentOf } from "../../market/tasks/rules.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const cancel = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/cancel" },
    summary: "Cancel a task",
    description:
      "Cancels an open task of yours: the hold returns to your available money, and the active bids are rejected. A " +
      "task that was awarded can no longer be cancelled.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("task") }))
  .output(z.object({ task: Task.meta({ description: "The task, cancelled." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, input.id);
      const move = { actor: actorOf(task, ctx.userId), moment: momentOf(ctx) };
      return { task: await moveTask(tx, "cancel", task, move) };
    }),
  );
