import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { carryOut } from "../../market/agreements/carryOut.ts";
import { lockAgreement } from "../../market/agreements/lockAgreement.ts";
import { amountOf } from "../../market/agreements/rules.ts";
import { endPending } from "../../market/tasks/agreements.ts";
import { getAwardedBid } from "../../market/tasks/moveTask.ts";
import { deadlineOf, taskAt } from "../../market/tasks/rules.ts";
import { Agreement } from "../../schemas/agreement.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const accept = scoped("agreement:write")
  .meta({
    rest: { method: "POST", path: "/agreements/{id}/accept" },
    summary: "Accept an agreement",
    description:
      "Accepts what the other side proposes, for good. `extend`: the new due time holds. `cancel`: the task is `cancelled`, and " +
      "the hold returns to the buyer. `settle`: the task is `resolved`; the bidder is paid `bidderCents`, and the rest returns to " +
      "the buyer. An open dispute is then `settled`, and nobody has lost it.",
    errors: ["forbidden", "not_found", "wrong_status", ...approvalErrors],
  })
  .input(z.strictObject({ id: idOf("agreement") }))
  .output(
    z.object({
      agreement: Agreement.meta({ description: "The agreement, accepted." }),
      task: Task.meta({ description: "The task, as it is now." }),
    }),
  )
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { task, side, moment } = await lockAgreement(tx, ctx, input.id, "accept");
      const agreement = await endPending(tx, task.id, "accepted", moment.now);
      if (agreement === null) throw new Error(`agreement ${input.id} is not pending`);
      const bid = await getAwardedBid(tx, task);
      const asked = { taskId: task.id, bidId: bid.id, subjectId: agreement.id };
      // It lapses when the task moves, which the clock may do before.
      const deadline = deadlineOf(taskAt(task, moment), moment)?.toISOString() ?? agreement.expiresAt;
      const endsAt = deadline < agreement.expiresAt ? deadline : agreement.expiresAt;
      mustBeApproved(tx, ctx, { ...asked, amountCents: amountOf(agreement, bid, side), endsAt });
      const agreed = await carryOut(tx, task, { agreement, bid, userId: ctx.userId, moment });
      tx.events.record("agreement.ended", { task: agreed, bid, agreement }, [task.buyerId, bid.bidder.id]);
      return { agreement, task: agreed };
    }),
  );
