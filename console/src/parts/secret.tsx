import { useState } from "react";
import { Button } from "./button.tsx";
import { Notice } from "./notice.tsx";
import styles from "./secret.module.css";

/** Something that is shown only once, with a button that copies it. */
export function Secret({ title, text, onDone }: { title: string; text: string; onDone?: () => void }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <div className={styles.secret}>
      <Notice kind="good" title={title} alert>
        Copy it now: it is shown only here, and cannot be shown again.
      </Notice>
      <pre className={styles.text}>{text}</pre>
      <div>
        <Button look="primary" onClick={copy}>
          {copied ? "Copied" : "Copy"}
        </Button>{" "}
        {onDone && (
          <Button look="quiet" onClick={onDone}>
            Done
          </Button>
        )}
      </div>
    </div>
  );
}
