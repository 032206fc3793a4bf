import { z } from "zod";
import { attachmentsOf } from "../../market/conversation/attachment.ts";
import { startUpload } from "../../market/uploads/declare.ts";
import { assertFileLimits } from "../../market/uploads/limits.ts";
import { UploadTarget, uploadInput } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

export const fileInit = scoped("message:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/files/init" },
    summary: "Start the upload of a file for a message",
    description:
      "Starts the upload of a file of up to 25 MB for a message in this conversation. Declare its exact type and size, PUT its " +
      "bytes to `uploadUrl` within an hour with the same `Content-Type` and `Content-Length`, and finish with " +
      "`POST /bids/{id}/files/finalize`.",
    errors: ["file_too_large", "not_found", "wrong_status", "limit_reached"],
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
      .meta({ id: "InitMessageFile" }),
  )
  .output(UploadTarget)
  .mutation(({ ctx, input: { id, ...upload } }) => {
    assertFileLimits("message", upload);
    return startUpload(ctx, attachmentsOf(ctx, id), upload);
  });
