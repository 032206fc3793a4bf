import { z } from "zod";
import {
  type ArtifactRow,
  addSealed,
  artifactColumns,
  artifactRecord,
  findSealed,
  toArtifact,
} from "../../market/uploads/artifacts.ts";
import { finalizeFor, type SealedUpload } from "../../market/uploads/finalize.ts";
import { assertRoomForSample, lockForWork, workOf } from "../../market/uploads/work.ts";
import { Sample, StorageKey } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import type { Transaction } from "../../store/database.ts";
import { type CallerContext, scoped } from "../../trpc.ts";

export const sampleFinalize = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/sample/finalize", status: 201 },
    summary: "Finish the upload of a sample",
    description:
      "Adds an uploaded sample to the task, within 24 hours of the start: the buyer sees it from now on, and it can " +
      "no longer change. Bytes that have not arrived, or that are not of the declared size and type, are " +
      "`invalid_input` on `storageKey`. Repeated with the same `storageKey`, it returns the same sample.",
    errors: ["sample_too_large", "forbidden", "not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(z.strictObject({ id: idOf("bid"), storageKey: StorageKey }).meta({ id: "FinalizeSample" }))
  .output(z.object({ sample: Sample.meta({ description: "The new sample." }) }))
  .mutation(async ({ ctx, input }) => {
    const { storageKey } = input;
    const destination = workOf(ctx, "sample", input.id);
    const row = await finalizeFor(
      ctx,
      { destination, storageKey },
      {
        findRecorded: () => findSealed<ArtifactRow>(ctx.database, storageKey, artifactColumns),
        record: (tx, sealed) => record(ctx, tx, input.id, sealed),
      },
    );
    return { sample: await toArtifact(ctx, row) };
  });

async function record(ctx: CallerContext, tx: Transaction, bidId: string, sealed: SealedUpload | null) {
  const { task, bid } = await lockForWork(ctx, tx, "sample", bidId);
  await assertRoomForSample(tx, bid.id);
  const subject = { kind: "sample", bidId: bid.id, taskId: task.id } as const;
  const row = await addSealed<ArtifactRow>(tx, subject, sealed, artifactColumns);
  tx.events.record("sample.posted", { task, bid, sample: artifactRecord(row) }, [task.buyerId, ctx.userId]);
  return row;
}
