import { z } from "zod";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, decideTaskAction } from "../../market/tasks/rules.ts";
import { moveTask } from "../../market/tasks/transition.ts";
import { Id } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";

/** Cancels an open task: the hold returns to the buyer, the active bids are rejected. */
export const cancel = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/cancel" },
    summary: "Cancel a task",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: Id }))
  .output(z.object({ task: Task }))
  .mutation(({ ctx, input }) =>
    ctx.database.transaction(async (tx) => {
      const task = await lockTask(tx, input.id);
      decideTaskAction("cancel", task, actorOf(task, ctx.userId));
      await tx.query(sql`
        UPDATE bids SET status = 'rejected', updated_at = clock_timestamp()
        WHERE task_id = ${task.id}::uuid AND status = 'active'`);
      const changes = sql`closed_at = ${ctx.clock.now().toISOString()}::timestamptz`;
      return { task: await moveTask(tx, "cancel", task, { bid: null, changes }) };
    }),
  );
