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
import { DropZone } from "./dropZone.tsx";
import { File as ShownFile } from "./files.tsx";
import { putFile } from "./putFile.ts";

/** A file that shall be part of a brief. */
export interface Chosen {
  key: string;
  file: File;
  /** Only the bidder whom the buyer chooses can download it. */
  isPrivate: boolean;
}

const choose = (files: readonly File[]): Chosen[] =>
  files.map((file) => ({ key: crypto.randomUUID(), file, isPrivate: false }));

const zone = {
  label: "Choose files, or drop them here",
  hint: "What one needs to do it: up to 20 files of 100 MB.",
  multiple: true,
};

/** The files of a task that is about to be posted: chosen, put in order, or left out again. */
export function ChooseFiles({ files, onChange }: { files: readonly Chosen[]; onChange: (files: Chosen[]) => void }) {
  const move = (from: number, to: number) => {
    const [moved] = files.slice(from, from + 1);
    if (moved) onChange(files.toSpliced(from, 1).toSpliced(to, 0, moved));
  };
  return (
    <div className={styles.files}>
      <b>Files</b>
      {files.length > 0 && (
        <ol className={styles.chosen} aria-label="Files of the task">
          {files.map(({ key, file, isPrivate }, index) => (
            <li key={key}>
              <div>
                <span dir="auto">{file.name}</span> <small>{formatBytes(file.size)}</small>
                <label>
                  <input
                    type="checkbox"
                    checked={isPrivate}
                    onChange={() => onChange(files.with(index, { key, file, isPrivate: !isPrivate }))}
                  />{" "}
                  Only for the bidder whom I choose
                </label>
              </div>
              <div className={styles.buttons}>
                <Button size="small" disabled={index === 0} onClick={() => move(index, index - 1)}>
                  <span aria-hidden="true">↑</span>
                  <span className="visually-hidden">Move {file.name} up</span>
                </Button>
                <Button size="small" disabled={index === files.length - 1} onClick={() => move(index, index + 1)}>
                  <span aria-hidden="true">↓</span>
                  <span className="visually-hidden">Move {file.name} down</span>
                </Button>
                <Button size="small" onClick={() => onChange(files.toSpliced(index, 1))}>
                  Remove<span className="visually-hidden"> {file.name}</span>
                </Button>
              </div>
            </li>
          ))}
        </ol>
      )}
      <DropZone {...zone} onChoose={(added) => onChange([...files, ...choose(added)])} />
    </div>
  );
}

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
