import { z } from "zod";
import { addDispute } from "../../market/disputes/records.ts";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { idOf } from "../../schemas/common.ts";
import { Dispute, disputeReason } from "../../schemas/dispute.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const dispute = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/dispute", status: 201 },
    summary: "Dispute the delivery",
    description:
      "Opens a dispute about a delivery, for the buyer or the awarded bidder, before `acceptanceDeadlineAt`. The " +
      "money stays held, and nothing is paid automatically any more: a moderator refunds it, releases it to the " +
      "bidder or splits it. A task has at most one dispute.",
    errors: ["forbidden", "not_found", "wrong_status", "already_disputed"],
  })
  .input(z.strictObject({ id: idOf("task"), reason: disputeReason }))
  .output(
    z.object({
      dispute: Dispute.meta({ description: "The new dispute." }),
      task: Task.meta({ description: "The task, disputed." }),
    }),
  )
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, input.id);
      const [actor, moment] = [actorOf(task, ctx.userId), momentOf(ctx)];
      assertTaskAction("dispute", task, actor, moment);
      const openedBy = actor === "buyer" ? "buyer" : "bidder";
      const opened = await addDispute(tx, { taskId: task.id, openedBy, reason: input.reason });
      return {
        dispute: opened,
        task: await moveTask(tx, "dispute", task, { actor, moment, details: { dispute: opened } }),
      };
    }),
  );
