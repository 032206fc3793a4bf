import type { CreateExport } from "@rebid/sdk";
import { api, type ExportedFile } from "../api/client.ts";
import { endOfLog } from "../api/pendingTopup.ts";
import { type Action, useAction } from "../api/useAction.ts";

/** The event wakes whoever waits for a file; one that failed has none, so it is looked for this often. */
const LOOK_SECONDS = 5;

/** What a file is asked by. */
export type Wanted = CreateExport;

/** Has a file made, and downloads it as soon as it is there. Gives what became of it: `ready` or `failed`. */
export function useTake(): Action<Wanted, ExportedFile> {
  return useAction(
    "exports.create",
    async (wanted: Wanted, options) => {
      const cursor = await endOfLog();
      const { export: asked } = await api.exports.create.mutate(wanted, options);
      return untilMade(asked.id, cursor);
    },
    {
      onSuccess: ({ downloadUrl }) => {
        // The file is an attachment: the page stays.
        if (downloadUrl !== undefined) location.assign(downloadUrl);
      },
    },
  );
}

async function untilMade(id: string, cursor: string): Promise<ExportedFile> {
  for (let after = cursor; ; ) {
    const { export: file } = await api.exports.read.query({ id });
    if (file.status !== "pending") return file;
    after = (await api.events.list.query({ after, types: ["export.ready"], wait: LOOK_SECONDS })).nextCursor;
  }
}
