import { z } from "zod";
import { resolveDispute } from "../../market/disputes/resolution.ts";
import { idOf } from "../../schemas/common.ts";
import { Dispute, resolveInput } from "../../schemas/dispute.ts";
import { Task } from "../../schemas/task.ts";
import { moderator } from "../../trpc.ts";

export const resolve = moderator
  .meta({
    rest: { method: "POST", path: "/disputes/{id}/resolve" },
    summary: "Resolve a dispute",
    description:
      "Decides a dispute for good, as a moderator. `refund` returns the held price to the buyer, `release` pays it " +
      "to the bidder, and `split` pays `bidderCents` to the bidder and returns the rest. The task becomes " +
      "`resolved`. A moderator who posted the task, or has ever bid on it, may not decide.",
    errors: ["not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("dispute"), ...resolveInput }))
  .output(
    z.object({
      dispute: Dispute.meta({ description: "The dispute, with the decision." }),
      task: Task.meta({ description: "The task, resolved." }),
    }),
  )
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { id: disputeId, resolution } = input;
      tx.onCommit(() => ctx.securityLog.record(ctx, "dispute.resolved", { disputeId, resolution }));
      return resolveDispute(tx, ctx, input, ctx.userId);
    }),
  );
