import { z } from "zod";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { recordRound } from "../../market/tasks/rounds.ts";
import { actorOf, assertTaskAction, deliveryDueAt, momentOf } from "../../market/tasks/rules.ts";
import { noteChangesRequested } from "../../market/uploads/work.ts";
import { idOf } from "../../schemas/common.ts";
import { changesInput } from "../../schemas/round.ts";
import { Task } from "../../schemas/task.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";

export const requestChanges = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/request-changes" },
    summary: "Ask for changes to the delivery",
    description:
      "Asks for changes to the delivery of your task, before `acceptanceDeadlineAt` and at most `revisions` times: it becomes " +
      "`awarded` again, and `deliveryDueAt` is now plus `hours`. The money stays held. The bidder delivers again or declines; " +
      "if neither happens in time, the earlier delivery stands again, and you have a new window to accept or dispute it.",
    errors: ["forbidden", "not_found", "wrong_status", "no_revisions_left"],
  })
  .input(z.strictObject({ id: idOf("task"), reason: changesInput.reason, hours: changesInput.hours }))
  .output(z.object({ task: Task.meta({ description: "The task, awarded again." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, input.id);
      const [actor, moment] = [actorOf(task, ctx.userId), momentOf(ctx)];
      assertTaskAction("requestChanges", task, actor, moment);
      const dueAt = deliveryDueAt(moment.now, input.hours);
      await noteChangesRequested(tx, task.id);
      await recordRound(tx, task, { reason: input.reason, requestedAt: moment.now, dueAt });
      const changes = sql`
        delivery_due_at = ${dueAt.toISOString()}::timestamptz, acceptance_deadline_at = NULL,
        revisions_used = revisions_used + 1,
        delivered_on_time = coalesce(delivered_on_time, delivered_at <= delivery_due_at)`;
      const details = { reason: input.reason };
      return { task: await moveTask(tx, "requestChanges", task, { actor, moment, changes, details }) };
    }),
  );
