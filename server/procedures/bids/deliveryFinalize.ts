import { z } from "zod";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { isInRound } from "../../market/tasks/rules.ts";
import { addArtifact, assertNotDelivered, supersedeDelivery, toArtifact } from "../../market/uploads/artifacts.ts";
import { findDeclared, lockForUpload } from "../../market/uploads/declare.ts";
import { finalizeUpload, type SealedUpload } from "../../market/uploads/finalize.ts";
import { Delivery, StorageKey } from "../../schemas/artifact.ts";
import { idOf, Timestamp } from "../../schemas/common.ts";
import { inOrder } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { type CallerContext, scoped } from "../../trpc.ts";

export const deliveryFinalize = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/delivery/finalize", status: 201 },
    summary: "Deliver",
    description:
      "Delivers the uploaded file: the task becomes `delivered`, and the buyer has until `acceptanceDeadlineAt` to " +
      "accept or dispute. You are paid when the buyer accepts, or at that time if nobody has opened a dispute. A " +
      "delivery can no longer change; if the buyer asks for changes, you may deliver again. Bytes that have not arrived, or that are not of the " +
      "declared size and type, are `invalid_input` on `storageKey`.",
    errors: ["forbidden", "not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(z.strictObject({ id: idOf("bid"), storageKey: StorageKey }).meta({ id: "FinalizeDelivery" }))
  .output(
    z.object({
      delivery: Delivery.meta({ description: "What you have delivered." }),
      task: z
        .object({
          acceptanceDeadlineAt: Timestamp.meta({
            description: "Until when the buyer can dispute; then the delivery counts as accepted.",
          }),
        })
        .meta({ id: "DeliveredTask", description: "Of the task, what has changed." }),
    }),
  )
  .mutation(async ({ ctx, input }) => {
    const { row, deadlineAt } = await ctx.claim(({ change }) =>
      finalizeUpload(ctx, {
        // Once another request has delivered, this one has the wrong status, unless the buyer has asked for changes since.
        find: () => findDeclared(ctx, "delivery", input.id, input.storageKey),
        findRecorded: async () => assertNotDelivered(ctx, input),
        record: (sealed) => change((tx) => deliver(ctx, tx, input.id, sealed)),
      }),
    );
    if (deadlineAt === null) throw new Error("a delivered task has no acceptance deadline");
    return { delivery: await toArtifact(ctx, row), task: { acceptanceDeadlineAt: deadlineAt } };
  });

async function deliver(ctx: CallerContext, tx: Transaction, bidId: string, sealed: SealedUpload | null) {
  const { task, bid, actor, moment } = await lockForUpload(ctx, tx, "delivery", bidId);
  const [, row, delivered] = await inOrder(
    async () => isInRound(task) && supersedeDelivery(tx, bid.id, moment.now),
    () => addArtifact(tx, "delivery", { bid, sealed }),
    () => moveTask(tx, "deliver", task, { actor, moment, bid }),
  );
  return { row, deadlineAt: delivered.acceptanceDeadlineAt };
}
