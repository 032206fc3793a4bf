import { z } from "zod";
import { addArtifact, artifactRecord, countSamples, findArtifact, toArtifact } from "../../market/uploads/artifacts.ts";
import { findDeclared, lockForUpload } from "../../market/uploads/declare.ts";
import { finalizeUpload, type SealedUpload } from "../../market/uploads/finalize.ts";
import { assertSampleCount } from "../../market/uploads/limits.ts";
import { Sample, StorageKey } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import type { Connection } from "../../store/connection.ts";
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
    const { row } = await ctx.claim(({ change }) =>
      finalizeUpload(ctx, {
        find: () => findDeclared(ctx, "sample", input.id, input.storageKey),
        findRecorded: async () => {
          const row = await findArtifact(ctx.database, input.storageKey);
          return row && change(async () => ({ row }));
        },
        check: () => checkCount(ctx.database, input.id),
        record: (sealed) => change((tx) => record(ctx, tx, input.id, sealed)),
      }),
    );
    return { sample: await toArtifact(ctx, row) };
  });

const checkCount = async (connection: Connection, bidId: string) =>
  assertSampleCount((await countSamples(connection, bidId)) + 1);

async function record(ctx: CallerContext, tx: Transaction, bidId: string, sealed: SealedUpload | null) {
  const { task, bid } = await lockForUpload(ctx, tx, "sample", bidId);
  await checkCount(tx, bid.id);
  const row = await addArtifact(tx, "sample", { bid, sealed });
  tx.events.record("sample.posted", { task, bid, sample: artifactRecord(row) }, [task.buyerId, ctx.userId]);
  return { row };
}
