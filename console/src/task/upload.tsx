import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Button } from "../parts/button.tsx";
import { formatBytes } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Problem } from "../parts/problem.tsx";
import { DropZone } from "./dropZone.tsx";
import styles from "./files.module.css";
import { putFile } from "./putFile.ts";

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

/** Uploads a sample or the delivery of a bid: choose or drop a file, read what will happen, send it. */
export function Upload({ bidId, target }: { bidId: string; target: Target }) {
  const [file, setFile] = useState<File | null>(null);
  if (file === null) return <ChooseFile target={target} onChoose={setFile} />;
  return <SendFile bidId={bidId} target={target} file={file} onDone={() => setFile(null)} />;
}

function ChooseFile({ target, onChoose }: { target: Target; onChoose: (file: File | null) => void }) {
  return (
    <DropZone
      label={target === "sample" ? "Choose a sample, or drop it here" : "Choose the delivery, or drop it here"}
      hint={
        target === "sample" ? "A first look for the buyer, before the delivery." : "One file. Pack several into one."
      }
      onChoose={([file]) => onChoose(file ?? null)}
    />
  );
}

/** Sends a file in the three steps of an upload, and says how far it is. */
function useUpload({ bidId, target, onDone }: Omit<SendFileProps, "file">) {
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState(0);
  const { init, finalize } = operations[target];
  const upload = useMutation({
    mutationFn: async (file: File) => {
      const steps = { id: bidId, init, finalize, operation: `bids.${target}Finalize` };
      await putFile<unknown>(steps, file, setProgress);
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
