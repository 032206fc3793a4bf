import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { getAwardedBid, moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf, taskAt } from "../../market/tasks/rules.ts";
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
    errors: ["forbidden", "not_found", "wrong_status", ...approvalErrors],
  })
  .input(z.strictObject({ id: idOf("task") }))
  .output(z.object({ task: Task.meta({ description: "The task, accepted." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, input.id);
      const [actor, moment] = [actorOf(task, ctx.userId), momentOf(ctx)];
      assertTaskAction("accept", task, actor, moment);
      const bid = await getAwardedBid(tx, task);
      const endsAt = taskAt(task, moment).acceptanceDeadlineAt;
      mustBeApproved(tx, ctx, {
        amountCents: bid.priceCents,
        taskId: task.id,
        bidId: bid.id,
        subjectId: task.id,
        endsAt,
      });
      return { task: await moveTask(tx, "accept", task, { actor, moment, bid }) };
    }),
  );
