import { z } from "zod";
import { findSealed } from "../../market/uploads/artifacts.ts";
import { addBriefFile, type BriefFileRow, briefFileColumns, briefOf, toBriefFile } from "../../market/uploads/brief.ts";
import { finalizeFor } from "../../market/uploads/finalize.ts";
import { StorageKey } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import { BriefFile } from "../../schemas/file.ts";
import { scoped } from "../../trpc.ts";

export const fileFinalize = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/files/finalize", status: 201 },
    summary: "Finish the upload of a file for a brief",
    description:
      "Adds an uploaded file to the brief of an open task of yours, within 24 hours of the start. It can no longer change, and " +
      "counts as a change of the task: bidders see `taskEditedAt`. Bytes that have not arrived, or that are not of the declared " +
      "size and type, are `invalid_input` on `storageKey`. Repeated with the same `storageKey`, it returns the same file.",
    errors: ["forbidden", "not_found", "wrong_status", "limit_reached"],
    hasNoDryRun: true,
  })
  .input(z.strictObject({ id: idOf("task"), storageKey: StorageKey }).meta({ id: "FinalizeTaskFile" }))
  .output(z.object({ file: BriefFile.meta({ description: "The new file." }) }))
  .mutation(async ({ ctx, input }) => {
    const { storageKey } = input;
    const destination = briefOf(ctx, input.id);
    const row = await finalizeFor(
      ctx,
      { destination, storageKey },
      {
        findRecorded: () => findSealed<BriefFileRow>(ctx.database, storageKey, briefFileColumns),
        record: (tx, sealed) => addBriefFile(ctx, tx, input.id, sealed),
      },
    );
    return { file: await toBriefFile(ctx, row, true) };
  });
