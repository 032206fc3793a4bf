import { useState } from "react";
import { Button } from "./button.tsx";
import { Markdown } from "./markdown.tsx";
import { PlainText } from "./plainText.tsx";

/** Texts longer than this are folded. */
const FOLD_CHARACTERS = 1_800;

interface LongTextProps {
  text: string;
  /** Letter by letter, not as Markdown. */
  plain?: boolean;
}

/** What somebody wrote, as Markdown, in its own direction and with its own line breaks. */
export function LongText({ text, plain = false }: LongTextProps) {
  const [open, setOpen] = useState(text.length <= FOLD_CHARACTERS);
  const shown = open ? text : `${text.slice(0, FOLD_CHARACTERS).trimEnd()}…`;
  return (
    <div>
      {plain ? <PlainText text={shown} /> : <Markdown text={shown} />}
      {!open && (
        <Button look="quiet" size="small" onClick={() => setOpen(true)}>
          Show the whole text
        </Button>
      )}
    </div>
  );
}
