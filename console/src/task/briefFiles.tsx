import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, type BriefFile, type TaskPage } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { formatBytes } from "../parts/format.ts";
import { Section } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { can } from "./access.ts";
import styles from "./briefFiles.module.css";
import { type Chosen, choose, zone } from "./chooseFiles.tsx";
import { DropZone } from "./dropZone.tsx";
import { File as ShownFile } from "./files.tsx";
import { putFile } from "./putFile.ts";

interface SendFilesProps {
  taskId: string;
  files: readonly Chosen[];
  /** Is called when all are there, or the rest is given up. */
  onDone: () => void;
}

/** Sends files one after the other, so that they stay in their order, and says how far it is. */
export function SendFiles({ taskId, files, onDone }: SendFilesProps) {
  const queryClient = useQueryClient();
  const sent = useRef(0);
  const [progress, setProgress] = useState({ index: 0, share: 0 });
  const send = useMutation({
    mutationFn: async () => {
      for (const { file, isPrivate } of files.slice(sent.current)) {
        const index = sent.current;
        const steps = {
          id: taskId,
          init: (declared: Parameters<typeof api.tasks.fileInit.mutate>[0]) =>
            api.tasks.fileInit.mutate({ ...declared, visibility: isPrivate ? "awarded" : "public" }),
          finalize: api.tasks.fileFinalize.mutate,
          operation: "tasks.fileFinalize",
        };
        await putFile<unknown>(steps, file, (share) => setProgress({ index, share }));
        sent.current++;
      }
    },
    onSettled: () => queryClient.invalidateQueries(),
    onSuccess: onDone,
  });
  const started = useRef(false);
  useEffect(() => {
    if (started.current) return;
    started.current = true;
    send.mutate();
  }, [send.mutate]);
  return (
    <div className={styles.files}>
      <ol className={styles.chosen} aria-label="Files of the task">
        {files.map(({ key, file }, index) => (
          <li key={key}>
            <div>
              <span dir="auto">{file.name}</span> <small>{formatBytes(file.size)}</small>
            </div>
            <progress
              value={index < progress.index ? 1 : index === progress.index ? progress.share : 0}
              aria-label={`Uploading ${file.name}`}
            />
          </li>
        ))}
      </ol>
      {send.error && (
        <>
          <Problem error={send.error} />
          <div className={styles.buttons}>
            <Button look="primary" onClick={() => send.mutate()}>
              Try again
            </Button>
            <Button look="quiet" onClick={onDone}>
              Go on without the rest
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

/** The files of a brief, in place; its buyer adds and removes some while the task is open. */
export function BriefFiles({ page }: { page: TaskPage }) {
  const { task, files = [] } = page;
  const [sending, setSending] = useState<readonly Chosen[]>([]);
  const canAdd = can(page, "tasks.fileInit");
  return (
    <Section title="Files" id="files">
      {files.map((file) => (
        <ShownFile
          key={file.id}
          file={file}
          actions={can(page, "tasks.removeFile") && <RemoveFile taskId={task.id} file={file} />}
          note={file.visibility === "awarded" && <Badge>For the awarded bidder</Badge>}
        />
      ))}
      {sending.length > 0 && (
        <SendFiles key={sending[0]?.key} taskId={task.id} files={sending} onDone={() => setSending([])} />
      )}
      {canAdd && sending.length === 0 && <DropZone {...zone} onChoose={(added) => setSending(choose(added))} />}
    </Section>
  );
}

function RemoveFile({ taskId, file }: { taskId: string; file: BriefFile }) {
  const remove = useAction("tasks.removeFile", api.tasks.removeFile.mutate);
  return (
    <Confirm
      button="Remove"
      size="small"
      look="danger"
      title="Remove this file?"
      confirm="Remove the file"
      action={remove}
      operation="tasks.removeFile"
      read={() => ({ id: taskId, fileId: file.id })}
    >
      <p>It is gone for everybody. Whoever has bid sees that the task was changed.</p>
    </Confirm>
  );
}
