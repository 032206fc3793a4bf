import { z } from "zod";
import { countSamples } from "../../market/uploads/artifacts.ts";
import { checkUpload, declareUpload, signUpload } from "../../market/uploads/declare.ts";
import { assertSampleCount, assertSampleLimits } from "../../market/uploads/limits.ts";
import { UploadTarget, uploadInput } from "../../schemas/artifact.ts";
import { Id } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

/** Declares a sample and returns the URL to upload it to. */
export const sampleInit = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/sample/init" },
    summary: "Start a sample's upload",
    errors: ["sample_too_large", "forbidden", "not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(
    z.strictObject({
      id: Id,
      ...uploadInput,
    }),
  )
  .output(UploadTarget)
  .mutation(async ({ ctx, input: { id, ...upload } }) => {
    assertSampleLimits(upload);
    const declared = await ctx.change(async (tx) => {
      await checkUpload(tx, ctx, "sample", id);
      assertSampleCount((await countSamples(tx, id)) + 1);
      return declareUpload(tx, "sample", id, upload);
    });
    return signUpload(ctx, declared);
  });
