import { z } from "zod";
import { startUpload } from "../../market/uploads/declare.ts";
import { assertDeliveryLimits } from "../../market/uploads/limits.ts";
import { workOf } from "../../market/uploads/work.ts";
import { UploadTarget, uploadInput } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

export const deliveryInit = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/delivery/init" },
    summary: "Start the upload of the delivery",
    description:
      "Starts the upload of the delivery, the finished work, while the task is `awarded` to your bid. Declare the " +
      "file's exact type and size, PUT its bytes to `uploadUrl` within an hour with the same `Content-Type` and " +
      "`Content-Length`, and finish with `POST /bids/{id}/delivery/finalize`. A delivery is one file of up to 1 GB.",
    errors: ["delivery_too_large", "forbidden", "not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(
    z
      .strictObject({
        id: idOf("bid"),
        mimeType: uploadInput.mimeType,
        bytes: uploadInput.bytes,
        fileName: uploadInput.fileName,
      })
      .meta({ id: "InitDelivery" }),
  )
  .output(UploadTarget)
  .mutation(async ({ ctx, input: { id, ...upload } }) => {
    assertDeliveryLimits(upload);
    return startUpload(ctx, workOf(ctx, "delivery", id), upload);
  });
