import { z } from "zod";
import { addArtifact, countSamples, findArtifact, toArtifact } from "../../market/uploads/artifacts.ts";
import { checkUpload, findDeclared, lockForUpload } from "../../market/uploads/declare.ts";
import { finalizeUpload, type SealedUpload } from "../../market/uploads/finalize.ts";
import { assertSampleCount } from "../../market/uploads/limits.ts";
import { Sample } from "../../schemas/artifact.ts";
import { Id, text } from "../../schemas/common.ts";
import { type CallerContext, scoped } from "../../trpc.ts";

/** Adds an uploaded sample to the task. Repeated with the same key, it returns the same sample. */
export const sampleFinalize = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/sample/finalize", status: 201 },
    summary: "Finish a sample's upload",
    errors: ["sample_too_large", "forbidden", "not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(z.strictObject({ id: Id, storageKey: text(0, 1_024) }))
  .output(z.object({ sample: Sample }))
  .mutation(async ({ ctx, input }) => {
    const { row } = await ctx.claim(() =>
      finalizeUpload(ctx, {
        find: async () => {
          await checkUpload(ctx.database, ctx, "sample", input.id);
          return findDeclared(ctx, "sample", input.id, input.storageKey);
        },
        findRecorded: async () => {
          const row = await findArtifact(ctx.database, input.storageKey);
          return row && ctx.change(async () => ({ row }));
        },
        record: (sealed) => record(ctx, input.id, sealed),
      }),
    );
    return { sample: await toArtifact(ctx, row) };
  });

function record(ctx: CallerContext, bidId: string, sealed: SealedUpload | null) {
  return ctx.change(async (tx) => {
    const { bid } = await lockForUpload(ctx, tx, "sample", bidId);
    assertSampleCount((await countSamples(tx, bid.id)) + 1);
    return { row: await addArtifact(tx, "sample", { bid, sealed }) };
  });
}
