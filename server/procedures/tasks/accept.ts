import { z } from "zod";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, momentOf } from "../../market/tasks/rules.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const accept = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/accept" },
    summary: "Accept the delivery",
    description:
      "Accepts the delivery of your task, which becomes `accepted`: the price moves from your held money to the " +
      "bidder's available money. That is final, so open a dispute instead if the delivery is not what was agreed. " +
      "If you do neither, the delivery is accepted at `acceptanceDeadlineAt`, 48 hours after it arrived.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("task") }))
  .output(z.object({ task: Task.meta({ description: "The task, accepted." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, input.id);
      const move = { actor: actorOf(task, ctx.userId), moment: momentOf(ctx) };
      return { task: await moveTask(tx, "accept", task, move) };
    }),
  );
