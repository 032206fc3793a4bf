import { useState } from "react";
import { Button } from "./button.tsx";
import styles from "./longText.module.css";

/** Texts longer than this are folded. */
const FOLD_CHARACTERS = 1_800;

/** What somebody wrote: always as text, in its own direction, with its own line breaks. */
export function LongText({ text }: { text: string }) {
  const [open, setOpen] = useState(text.length <= FOLD_CHARACTERS);
  return (
    <div>
      <p className={styles.text} dir="auto">
        {open ? text : `${text.slice(0, FOLD_CHARACTERS).trimEnd()}…`}
      </p>
      {!open && (
        <Button look="quiet" size="small" onClick={() => setOpen(true)}>
          Show the whole text
        </Button>
      )}
    </div>
  );
}
