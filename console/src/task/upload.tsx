import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type DragEvent, useId, useState } from "react";
import { api } from "../api/client.ts";
import { keyFor, settle } from "../api/idempotencyKeys.ts";
import { Button } from "../parts/button.tsx";
import { formatBytes } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Problem } from "../parts/problem.tsx";
import styles from "./files.module.css";

type Target = "sample" | "delivery";

const operations = {
  sample: {
    init: api.bids.sampleInit.mutate,
    finalize: api.bids.sampleFinalize.mutate,
    button: "Upload the sample",
    note: "The buyer sees it at once. It cannot be changed or removed afterwards.",
  },
  delivery: {
    init: api.bids.deliveryInit.mutate,
    finalize: api.bids.deliveryFinalize.mutate,
    button: "Deliver this file",
    note: "It cannot be changed afterwards, unless the buyer asks for changes. The buyer then accepts or disputes it; if they do nothing in time, you are paid automatically.",
  },
} as const;

/** Types that some systems do not know by the name of the file. */
const typesByExtension: Record<string, string> = { md: "text/markdown", csv: "text/csv", json: "application/json" };

const typeOf = ({ name, type }: File) =>
  type || (typesByExtension[name.split(".").at(-1)?.toLowerCase() ?? ""] ?? "application/octet-stream");

/** Sends a file straight to the object store. The address is signed: no cookie goes with it. */
function put(url: string, file: File, onProgress: (share: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
    request.onload = () => (request.status < 300 ? resolve() : reject(new Error("the object store refused")));
    request.onerror = () => reject(new Error("no connection"));
    request.open("PUT", url);
    request.setRequestHeader("Content-Type", typeOf(file));
    request.send(file);
  });
}

/** Uploads a sample or the delivery of a bid: choose or drop a file, read what will happen, send it. */
export function Upload({ bidId, target }: { bidId: string; target: Target }) {
  const [file, setFile] = useState<File | null>(null);
  if (file === null) return <ChooseFile target={target} onChoose={setFile} />;
  return <SendFile bidId={bidId} target={target} file={file} onDone={() => setFile(null)} />;
}

function ChooseFile({ target, onChoose }: { target: Target; onChoose: (file: File | null) => void }) {
  const id = useId();
  const [over, setOver] = useState(false);
  const choose = (files: FileList | null) => onChoose(files?.item(0) ?? null);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    choose(event.dataTransfer.files);
  };
  return (
    <label
      className={over ? `${styles.zone} ${styles.over}` : styles.zone}
      htmlFor={id}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <b>{target === "sample" ? "Choose a sample, or drop it here" : "Choose the delivery, or drop it here"}</b>
      <small>
        {target === "sample" ? "A first look for the buyer, before the delivery." : "One file. Pack several into one."}
      </small>
      <input id={id} type="file" onChange={({ currentTarget }) => choose(currentTarget.files)} />
    </label>
  );
}

/** Sends a file in the three steps of an upload, and says how far it is. */
function useUpload({ bidId, target, onDone }: Omit<SendFileProps, "file">) {
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState(0);
  const { init, finalize } = operations[target];
  const upload = useMutation({
    mutationFn: async (file: File) => {
      const declared = { id: bidId, mimeType: typeOf(file), bytes: file.size, fileName: file.name };
      const { uploadUrl, storageKey } = await init(declared);
      await put(uploadUrl, file, setProgress);
      const input = { id: bidId, storageKey };
      const operation = `bids.${target}Finalize`;
      await finalize(input, { context: { idempotencyKey: keyFor(operation, input) } });
      settle(operation, input);
    },
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      onDone();
    },
    onSettled: () => setProgress(0),
  });
  return { upload, progress };
}

interface SendFileProps {
  bidId: string;
  target: Target;
  file: File;
  /** Is called when the file is sent, or another one shall be chosen. */
  onDone: () => void;
}

function SendFile(props: SendFileProps) {
  const { target, file, onDone } = props;
  const { upload, progress } = useUpload(props);
  const { button, note } = operations[target];
  return (
    <div className={styles.chosen}>
      <p>
        <b dir="auto">{file.name}</b>, {formatBytes(file.size)}
      </p>
      {upload.isPending ? (
        <progress value={progress} aria-label={`Uploading ${file.name}`} />
      ) : (
        <Notice kind={target === "delivery" ? "warn" : "info"}>{note}</Notice>
      )}
      {upload.error && <Problem error={upload.error} />}
      <div className={styles.actions}>
        <Button look="primary" busy={upload.isPending} paused={upload.isPaused} onClick={() => upload.mutate(file)}>
          {upload.isPending ? `${Math.floor(progress * 100)}%` : button}
        </Button>
        {!upload.isPending && (
          <Button look="quiet" onClick={onDone}>
            Choose another file
          </Button>
        )}
      </div>
    </div>
  );
}
