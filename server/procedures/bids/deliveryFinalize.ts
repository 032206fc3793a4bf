import { z } from "zod";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { isInRound } from "../../market/tasks/rules.ts";
import { type ArtifactRow, addSealed, artifactColumns, toArtifact } from "../../market/uploads/artifacts.ts";
import { finalizeFor, type SealedUpload } from "../../market/uploads/finalize.ts";
import { assertNotDelivered, lockForWork, supersedeDelivery, workOf } from "../../market/uploads/work.ts";
import { Delivery, StorageKey } from "../../schemas/artifact.ts";
import { isBuiltIn } from "../../schemas/check.ts";
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
    const { storageKey } = input;
    const destination = workOf(ctx, "delivery", input.id);
    const { row, deadlineAt } = await finalizeFor(
      ctx,
      { destination, storageKey },
      {
        // Once another request has delivered, this one has the wrong status, unless the buyer has asked for changes since.
        findRecorded: () => assertNotDelivered(ctx.database, destination, storageKey),
        record: (tx, sealed) => deliver(ctx, tx, input.id, sealed),
      },
    );
    if (deadlineAt === null) throw new Error("a delivered task has no acceptance deadline");
    return { delivery: await toArtifact(ctx, row), task: { acceptanceDeadlineAt: deadlineAt } };
  });

async function deliver(ctx: CallerContext, tx: Transaction, bidId: string, sealed: SealedUpload | null) {
  const { task, bid, actor, moment } = await lockForWork(ctx, tx, "delivery", bidId);
  const subject = { kind: "delivery", bidId: bid.id, taskId: task.id, checks: task.checks } as const;
  const [, row, delivered] = await inOrder(
    async () => isInRound(task) && supersedeDelivery(tx, bid.id, moment.now),
    () => addSealed<ArtifactRow>(tx, subject, sealed, artifactColumns),
    () => moveTask(tx, "deliver", task, { actor, moment, bid }),
  );
  if (task.checks.some(isBuiltIn)) tx.jobs.add("checkDelivery", { deliveryId: row.id });
  return { row, deadlineAt: delivered.acceptanceDeadlineAt };
}
