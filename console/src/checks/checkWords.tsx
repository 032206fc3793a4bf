import type { Check, NewCheck } from "../api/client.ts";
import files from "../task/files.module.css";
import folds from "../task/now.module.css";
import styles from "./checks.module.css";
import { contentOf, phraseOf } from "./words.ts";

interface CheckWordsProps {
  check: Check | NewCheck;
  /** While it is written, its content stands in its field. */
  isDraft?: boolean;
}

/** What a check wants, in words that stay in their own direction whatever somebody wrote into them. */
export function CheckWords({ check, isDraft = false }: CheckWordsProps) {
  const content = isDraft ? null : contentOf(check);
  return (
    <>
      <bdi className={styles.phrase}>{phraseOf(check)}</bdi>
      {content !== null && (
        <details className={folds.more}>
          <summary>
            Show all of it<span className="visually-hidden"> of {check.name}</span>
          </summary>
          <div className={files.text}>
            <pre dir="auto">{content}</pre>
          </div>
        </details>
      )}
    </>
  );
}
