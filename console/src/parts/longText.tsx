import { useState } from "react";
import { Button } from "./button.tsx";
import { Markdown } from "./markdown.tsx";

/** Texts longer than this are folded. */
const FOLD_CHARACTERS = 1_800;

/** What somebody wrote, as Markdown, in its own direction and with its own line breaks. */
export function LongText({ text }: { text: string }) {
  const [open, setOpen] = useState(text.length <= FOLD_CHARACTERS);
  return (
    <div>
      <Markdown text={open ? text : `${text.slice(0, FOLD_CHARACTERS).trimEnd()}…`} />
      {!open && (
        <Button look="quiet" size="small" onClick={() => setOpen(true)}>
          Show the whole text
        </Button>
      )}
    </div>
  );
}
