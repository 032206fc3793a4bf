import { z } from "zod";
import { resolveDispute } from "../../market/disputes/resolution.ts";
import { Id } from "../../schemas/common.ts";
import { Dispute, resolveInput } from "../../schemas/dispute.ts";
import { Task } from "../../schemas/task.ts";
import { moderator } from "../../trpc.ts";

/** Resolves a dispute: the held price returns to the buyer, is paid to the bidder, or is divided. */
export const resolve = moderator
  .meta({
    rest: { method: "POST", path: "/disputes/{id}/resolve" },
    summary: "Resolve a dispute",
    errors: ["not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: Id, ...resolveInput }))
  .output(z.object({ dispute: Dispute, task: Task }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { id: disputeId, resolution } = input;
      tx.onCommit(() => ctx.securityLog.record(ctx, "dispute.resolved", { disputeId, resolution }));
      return resolveDispute(tx, ctx, input, ctx.userId);
    }),
  );
