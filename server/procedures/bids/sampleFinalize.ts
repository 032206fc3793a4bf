import { z } from "zod";
import type { SealedObject } from "../../gateways/storage.ts";
import { addArtifact, artifactRecord, countSamples, findArtifact, toArtifact } from "../../market/uploads/artifacts.ts";
import { checkUpload, findDeclared, lockForUpload } from "../../market/uploads/declare.ts";
import { assertSampleCount } from "../../market/uploads/limits.ts";
import { sealUpload } from "../../market/uploads/seal.ts";
import { Sample } from "../../schemas/artifact.ts";
import { Id, text } from "../../schemas/common.ts";
import { type CallerContext, scoped } from "../../trpc.ts";

/** Adds an uploaded sample to the task. Repeated with the same key, it returns the same sample. */
export const sampleFinalize = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/sample/finalize", status: 201 },
    summary: "Finish a sample's upload",
    errors: ["sample_too_large", "forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: Id, storageKey: text(0, 1_024) }))
  .output(z.object({ sample: Sample }))
  .mutation(async ({ ctx, input }) => {
    const { row } = await ctx.claim(async () => {
      await checkUpload(ctx.database, ctx, "sample", input.id);
      const declared = await findDeclared(ctx, "sample", input.id, input.storageKey);
      const existing = await findArtifact(ctx.database, input.storageKey);
      if (existing) return ctx.change(async () => ({ row: existing }));
      return sealUpload(ctx, declared, (sealed) => record(ctx, input, sealed));
    });
    return { sample: await toArtifact(ctx, row) };
  });

function record(ctx: CallerContext, input: { id: string; storageKey: string }, sealed: SealedObject | null) {
  return ctx.change(async (tx) => {
    const { task, bid } = await lockForUpload(ctx, tx, "sample", input.id);
    // A parallel request may have finalised the same key while this copy was made.
    const existing = await findArtifact(tx, input.storageKey);
    if (existing) return { row: existing };
    assertSampleCount((await countSamples(tx, bid.id)) + 1);
    const row = await addArtifact(tx, "sample", { uploadKey: input.storageKey, bid, sealed });
    await tx.events.record("sample.posted", { task, bid, sample: artifactRecord(row) }, [task.buyerId, ctx.userId]);
    return { row };
  });
}
