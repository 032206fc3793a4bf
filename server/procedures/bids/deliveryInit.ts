import { z } from "zod";
import { checkUpload, declareUpload, signUpload } from "../../market/uploads/declare.ts";
import { assertDeliveryLimits } from "../../market/uploads/limits.ts";
import { UploadTarget, uploadInput } from "../../schemas/artifact.ts";
import { Id } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

/** Declares the delivery and returns the URL to upload it to. */
export const deliveryInit = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/delivery/init" },
    summary: "Start the delivery's upload",
    errors: ["delivery_too_large", "forbidden", "not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(
    z.strictObject({
      id: Id,
      mimeType: uploadInput.mimeType,
      bytes: uploadInput.bytes,
      fileName: uploadInput.fileName,
    }),
  )
  .output(UploadTarget)
  .mutation(async ({ ctx, input: { id, ...upload } }) => {
    assertDeliveryLimits(upload);
    const declared = await ctx.change(async (tx) => {
      await checkUpload(tx, ctx, "delivery", id);
      return declareUpload(tx, "delivery", id, upload);
    });
    return signUpload(ctx, declared);
  });
