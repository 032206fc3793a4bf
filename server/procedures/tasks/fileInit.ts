import { z } from "zod";
import { briefOf } from "../../market/uploads/brief.ts";
import { startUpload } from "../../market/uploads/declare.ts";
import { assertFileLimits } from "../../market/uploads/limits.ts";
import { UploadTarget, uploadInput } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import { Visibility } from "../../schemas/file.ts";
import { scoped } from "../../trpc.ts";

export const fileInit = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/files/init" },
    summary: "Start the upload of a file for a brief",
    description:
      "Starts the upload of a file that bidders need to understand an open task of yours. Declare its exact type and size, PUT " +
      "its bytes to `uploadUrl` within an hour with the same `Content-Type` and `Content-Length`, and finish with " +
      "`POST /tasks/{id}/files/finalize`. A task has up to 20 files of up to 100 MB.",
    errors: ["file_too_large", "forbidden", "not_found", "wrong_status", "limit_reached"],
    hasNoDryRun: true,
  })
  .input(
    z
      .strictObject({
        id: idOf("task"),
        mimeType: uploadInput.mimeType,
        bytes: uploadInput.bytes,
        fileName: uploadInput.fileName,
        visibility: Visibility.default("public"),
      })
      .meta({ id: "InitTaskFile" }),
  )
  .output(UploadTarget)
  .mutation(({ ctx, input: { id, ...upload } }) => {
    assertFileLimits("brief", upload);
    return startUpload(ctx, briefOf(ctx, id), upload);
  });
