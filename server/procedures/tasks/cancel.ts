import { z } from "zod";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, momentOf } from "../../market/tasks/rules.ts";
import { Id } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

/** Cancels an open task: the hold returns to the buyer, and the active bids are rejected. */
export const cancel = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/cancel" },
    summary: "Cancel a task",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: Id }))
  .output(z.object({ task: Task }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, input.id);
      const move = { actor: actorOf(task, ctx.userId), moment: momentOf(ctx) };
      return { task: await moveTask(tx, "cancel", task, move) };
    }),
  );
