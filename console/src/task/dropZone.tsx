import { type DragEvent, type ReactNode, useId, useState } from "react";
import styles from "./files.module.css";

interface DropZoneProps {
  label: string;
  hint: string;
  multiple?: boolean;
  onChoose: (files: readonly File[]) => void;
}

/** A place to choose files, or to drop them on. */
export function DropZone({ label, hint, multiple = false, onChoose }: DropZoneProps): ReactNode {
  const id = useId();
  const [over, setOver] = useState(false);
  const choose = (files: FileList | null) => {
    const chosen = [...(files ?? [])].slice(0, multiple ? undefined : 1);
    if (chosen.length > 0) onChoose(chosen);
  };
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
      <b>{label}</b>
      <small>{hint}</small>
      <input
        id={id}
        type="file"
        multiple={multiple}
        onChange={({ currentTarget }) => {
          choose(currentTarget.files);
          // The same file can be chosen again.
          currentTarget.value = "";
        }}
      />
    </label>
  );
}
