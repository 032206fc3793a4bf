import { z } from "zod";
import { countSamples } from "../../market/uploads/artifacts.ts";
import { checkUpload, declareUpload, signUpload } from "../../market/uploads/declare.ts";
import { assertSampleLimits, sampleMimeTypes } from "../../market/uploads/limits.ts";
import { Dimensions, UploadTarget } from "../../schemas/artifact.ts";
import { Id, MAX_INT32 } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

/** Declares a sample and returns the URL to upload it to. */
export const sampleInit = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/sample/init" },
    summary: "Start a sample's upload",
    errors: ["sample_too_large", "forbidden", "not_found", "wrong_status"],
  })
  .input(
    z.strictObject({
      id: Id,
      mimeType: z.enum(sampleMimeTypes),
      bytes: z.int().min(1).max(MAX_INT32),
      dimensions: Dimensions.optional(),
      durationSec: z.int().min(0).max(MAX_INT32).optional(),
    }),
  )
  .output(UploadTarget)
  .mutation(async ({ ctx, input: { id, ...upload } }) => {
    const declared = await ctx.change(async (tx) => {
      await checkUpload(tx, ctx, "sample", id);
      assertSampleLimits(upload, await countSamples(tx, id));
      return declareUpload(tx, "sample", id, upload);
    });
    return signUpload(ctx, declared);
  });
