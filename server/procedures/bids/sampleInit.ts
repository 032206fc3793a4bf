import { z } from "zod";
import { startUpload } from "../../market/uploads/declare.ts";
import { assertSampleLimits } from "../../market/uploads/limits.ts";
import { workOf } from "../../market/uploads/work.ts";
import { UploadTarget, uploadInput } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

export const sampleInit = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/sample/init" },
    summary: "Start the upload of a sample",
    description:
      "Starts the upload of a sample, which shows the buyer how the work is going, while the task is `awarded` to " +
      "your bid. Declare the file's exact type and size, PUT its bytes to `uploadUrl` within an hour with the same " +
      "`Content-Type` and `Content-Length`, and finish with `POST /bids/{id}/sample/finalize`. A bid has up to 10 " +
      "samples. What is allowed depends on the type: `violations` lists every limit that the file exceeds.",
    errors: ["sample_too_large", "forbidden", "not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(
    z
      .strictObject({
        id: idOf("bid"),
        ...uploadInput,
      })
      .meta({ id: "InitSample" }),
  )
  .output(UploadTarget)
  .mutation(async ({ ctx, input: { id, ...upload } }) => {
    assertSampleLimits(upload);
    return startUpload(ctx, workOf(ctx, "sample", id), upload);
  });
