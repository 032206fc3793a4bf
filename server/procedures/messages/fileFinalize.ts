import { z } from "zod";
import { addAttachment, attachmentsOf } from "../../market/conversation/attachment.ts";
import { toMessageFile } from "../../market/conversation/messages.ts";
import { findSealed, type SealedRow, sealedColumns } from "../../market/uploads/artifacts.ts";
import { finalizeFor } from "../../market/uploads/finalize.ts";
import { StorageKey } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import { MessageFile } from "../../schemas/file.ts";
import { scoped } from "../../trpc.ts";

export const fileFinalize = scoped("message:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/files/finalize", status: 201 },
    summary: "Finish the upload of a file for a message",
    description:
      "Finishes an upload within 24 hours of its start. Nobody else sees the file until you send it: put its `id` into the " +
      "`fileIds` of one message within 24 hours, or it is deleted. Repeated with the same `storageKey`, it returns the same file.",
    errors: ["not_found", "wrong_status"],
    hasNoDryRun: true,
  })
  .input(z.strictObject({ id: idOf("bid"), storageKey: StorageKey }).meta({ id: "FinalizeMessageFile" }))
  .output(z.object({ file: MessageFile.meta({ description: "The new file." }) }))
  .mutation(async ({ ctx, input }) => {
    const { storageKey } = input;
    const destination = attachmentsOf(ctx, input.id);
    const row = await finalizeFor(
      ctx,
      { destination, storageKey },
      {
        findRecorded: () => findSealed<SealedRow>(ctx.database, storageKey, sealedColumns),
        record: (tx, sealed) => addAttachment(ctx, tx, input.id, sealed),
      },
    );
    return { file: await toMessageFile(ctx, row) };
  });
