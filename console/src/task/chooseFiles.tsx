import { type PointerEvent, useEffect, useRef, useState } from "react";
import { Button } from "../parts/button.tsx";
import { formatBytes } from "../parts/format.ts";
import styles from "./briefFiles.module.css";
import { DropZone } from "./dropZone.tsx";

/** A file that shall be part of a brief. */
export interface Chosen {
  key: string;
  file: File;
  /** Only the bidder whom the buyer chooses can download it. */
  isPrivate: boolean;
}

export const choose = (files: readonly File[]): Chosen[] =>
  files.map((file) => ({ key: crypto.randomUUID(), file, isPrivate: false }));

export const zone = {
  label: "Choose files, or drop them here",
  hint: "What one needs to do it: up to 20 files of 100 MB.",
  multiple: true,
};

interface ChooseFilesProps {
  files: readonly Chosen[];
  onChange: (files: readonly Chosen[]) => void;
}

/** The files of a task that is about to be posted: chosen, put in order, or left out again. */
export function ChooseFiles({ files, onChange }: ChooseFilesProps) {
  return (
    <div className={styles.files}>
      <b>Files</b>
      {files.length > 0 && <ChosenFiles files={files} onChange={onChange} />}
      <DropZone {...zone} onChoose={(added) => onChange([...files, ...choose(added)])} />
    </div>
  );
}

/** A button that moved a file, which keeps the focus. */
interface Pressed {
  key: string;
  by: -1 | 1;
}

/** Rows are dragged by their handles, with a mouse, a pen or a finger; their buttons do the same with the keyboard. */
function ChosenFiles({ files, onChange }: ChooseFilesProps) {
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const [pressed, setPressed] = useState<Pressed | null>(null);
  const indexOf = (key: string | null | undefined) => files.findIndex((each) => each.key === key);
  const move = (from: number, to: number) => {
    const [moved] = files.slice(from, from + 1);
    if (moved && from !== to) onChange(files.toSpliced(from, 1).toSpliced(to, 0, moved));
  };
  useEffect(() => {
    if (pressed === null) return;
    const row = list.current?.querySelector(`[data-key="${pressed.key}"]`);
    const [up, down] = row?.querySelectorAll("button") ?? [];
    const [same, other] = pressed.by === -1 ? [up, down] : [down, up];
    // At either end, only the other button is left.
    (same?.disabled ? other : same)?.focus();
  }, [pressed]);
  const drag = ({ clientY }: PointerEvent) => {
    const rows = [...(list.current?.children ?? [])];
    const from = indexOf(dragged);
    if (from >= 0) move(from, placeOf(rows, from, clientY));
  };
  const place = indexOf(pressed?.key);
  return (
    <>
      <ol
        ref={list}
        className={styles.chosen}
        aria-label="Files of the task"
        onPointerMove={drag}
        onPointerUp={() => setDragged(null)}
        onPointerCancel={() => setDragged(null)}
      >
        {files.map((chosen, index) => (
          <ChosenFile
            key={chosen.key}
            chosen={chosen}
            isFirst={index === 0}
            isLast={index === files.length - 1}
            isDragged={chosen.key === dragged}
            onGrab={(pointerId) => {
              // Rows change places under the pointer; the list stays.
              list.current?.setPointerCapture(pointerId);
              setDragged(chosen.key);
            }}
            onMove={(by) => {
              move(index, index + by);
              setPressed({ key: chosen.key, by });
            }}
            onChange={(changed) => onChange(files.with(index, changed))}
            onRemove={() => onChange(files.toSpliced(index, 1))}
          />
        ))}
      </ol>
      <p role="status" className="visually-hidden">
        {place >= 0 && `${files[place]?.file.name} is number ${place + 1} of ${files.length}.`}
      </p>
    </>
  );
}

/**
 * Returns where the row at `from` belongs when the pointer is at `y`. It passes a neighbour when the pointer has passed the
 * neighbour's middle, so that rows of different heights do not change places back and forth.
 */
function placeOf(rows: readonly Element[], from: number, y: number): number {
  const middles = rows.map((row) => row.getBoundingClientRect()).map(({ top, height }) => top + height / 2);
  const below = middles.slice(from + 1).filter((middle) => y > middle).length;
  const above = middles.slice(0, from).filter((middle) => y < middle).length;
  return from + below - above;
}

interface ChosenFileProps {
  chosen: Chosen;
  isFirst: boolean;
  isLast: boolean;
  isDragged: boolean;
  onGrab: (pointerId: number) => void;
  onMove: (by: -1 | 1) => void;
  onChange: (chosen: Chosen) => void;
  onRemove: () => void;
}

function ChosenFile({ chosen, isFirst, isLast, isDragged, onGrab, onMove, onChange, onRemove }: ChosenFileProps) {
  const { file, isPrivate } = chosen;
  const row = useRef<HTMLLIElement>(null);
  const grab = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.preventDefault();
    onGrab(event.pointerId);
  };
  // It stays in sight in a list that is longer than the window, wherever it is now.
  useEffect(() => {
    if (isDragged) row.current?.scrollIntoView({ block: "nearest" });
  });
  return (
    <li ref={row} data-key={chosen.key} className={isDragged ? styles.dragged : undefined}>
      <span className={styles.handle} aria-hidden="true" title="Drag it to its place" onPointerDown={grab}>
        ⠿
      </span>
      <div>
        <span dir="auto">{file.name}</span> <small>{formatBytes(file.size)}</small>
        <label>
          <input type="checkbox" checked={isPrivate} onChange={() => onChange({ ...chosen, isPrivate: !isPrivate })} />{" "}
          Only for the bidder whom I choose
        </label>
      </div>
      <div className={styles.buttons}>
        <Button size="small" disabled={isFirst} onClick={() => onMove(-1)}>
          <span aria-hidden="true">↑</span>
          <span className="visually-hidden">Move {file.name} up</span>
        </Button>
        <Button size="small" disabled={isLast} onClick={() => onMove(1)}>
          <span aria-hidden="true">↓</span>
          <span className="visually-hidden">Move {file.name} down</span>
        </Button>
        <Button size="small" onClick={onRemove}>
          Remove<span className="visually-hidden"> {file.name}</span>
        </Button>
      </div>
    </li>
  );
}
