import { z } from "zod";
import { removeBriefFile } from "../../market/uploads/brief.ts";
import { idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

export const removeFile = scoped("task:write")
  .meta({
    rest: { method: "DELETE", path: "/tasks/{id}/files/{fileId}", status: 204 },
    summary: "Delete a file of a brief",
    description:
      "Deletes a file of the brief of an open task of yours. It counts as a change of the task. After the award, a brief keeps " +
      "the files that it has.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("task"), fileId: idOf("file") }).meta({ id: "RemoveTaskFile" }))
  .output(z.void())
  .mutation(({ ctx, input }) => ctx.change((tx) => removeBriefFile(ctx, tx, input.id, input.fileId)));
