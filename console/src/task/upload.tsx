import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { api, type Check } from "../api/client.ts";
import { Button } from "../parts/button.tsx";
import { formatBytes } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Problem } from "../parts/problem.tsx";
import { DropZone } from "./dropZone.tsx";
import styles from "./files.module.css";
import { finishFile, sendFile } from "./putFile.ts";

// Only where checks were agreed on.
const Checklist = lazy(() => import("../checks/checklist.tsx").then((file) => ({ default: file.Checklist })));

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

interface UploadProps {
  bidId: string;
  target: Target;
  /** What a delivery will be judged by. */
  checks?: readonly Check[];
}

/** Uploads a sample or the delivery of a bid: choose or drop a file, read what will happen, send it. */
export function Upload(props: UploadProps) {
  const [file, setFile] = useState<File | null>(null);
  if (file === null) return <ChooseFile target={props.target} onChoose={setFile} />;
  return <SendFile {...props} file={file} onDone={() => setFile(null)} />;
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

/** Sends a file in the three steps of an upload, the first two of them once, and says how far it is. */
function useUpload({ bidId, target, file, onDone }: SendFileProps) {
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState(0);
  const [storageKey, setStorageKey] = useState<string | null>(null);
  const { init, finalize } = operations[target];
  const sent = async () => {
    if (storageKey !== null) return storageKey;
    const key = await sendFile<unknown>({ id: bidId, init }, file, setProgress);
    setStorageKey(key);
    return key;
  };
  const onSettled = () => setProgress(0);
  const upload = useMutation({
    mutationFn: async () => {
      const steps = { id: bidId, finalize, operation: `bids.${target}Finalize` };
      await finishFile<unknown>(steps, await sent());
    },
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      onDone();
    },
    onSettled,
  });
  const trial = useMutation({
    mutationFn: async () => api.bids.deliveryPreflight.mutate({ id: bidId, storageKey: await sent() }),
    onSettled,
  });
  return { upload, trial, progress };
}

interface SendFileProps extends UploadProps {
  file: File;
  /** Is called when the file is sent, or another one shall be chosen. */
  onDone: () => void;
}

function SendFile(props: SendFileProps) {
  const { target, file, checks = [], onDone } = props;
  const { upload, trial, progress } = useUpload(props);
  const { button, note } = operations[target];
  const isBusy = upload.isPending || trial.isPending;
  const error = upload.error ?? trial.error;
  return (
    <div className={styles.chosen}>
      <p>
        <b dir="auto">{file.name}</b>, {formatBytes(file.size)}
      </p>
      <Suspense>{trial.data && <Checklist results={trial.data.checks} checks={checks} isTrial />}</Suspense>
      {isBusy ? (
        <progress value={progress} aria-label={`Uploading ${file.name}`} />
      ) : (
        <Notice kind={target === "delivery" ? "warn" : "info"}>{note}</Notice>
      )}
      {error && <Problem error={error} />}
      <div className={styles.actions}>
        {checks.length > 0 && !trial.data && (
          <Button busy={trial.isPending} disabled={isBusy} onClick={() => trial.mutate()}>
            Try the checks first
          </Button>
        )}
        <Button
          look="primary"
          busy={upload.isPending}
          disabled={isBusy}
          paused={upload.isPaused}
          onClick={() => upload.mutate()}
        >
          {upload.isPending ? `${Math.floor(progress * 100)}%` : button}
        </Button>
        {!isBusy && (
          <Button look="quiet" onClick={onDone}>
            Choose another file
          </Button>
        )}
      </div>
    </div>
  );
}
