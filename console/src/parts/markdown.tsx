import { lazy, Suspense } from "react";
import styles from "./markdown.module.css";

const MarkdownParts = lazy(() => import("./markdownParts.tsx").then((file) => ({ default: file.MarkdownParts })));

/** Something that Markdown may read as more than words: only then its library, 16 kB, is loaded. */
const SYNTAX = /[\\`*_[\]<>~|&@]|:\/\/|www\.|^\s*(?:[-+=#]|\d+[.)])|^(?: {4}| *\t)| {2}$/im;

/**
 * A word that no language has. Chromium kerns what is left of it again for each of its lines: a word of 20,000 characters
 * took it five seconds, and 8 ms without kerning.
 */
const ENDLESS_WORD = /\S{500}/;

/** What somebody wrote, as Markdown. */
export function Markdown({ text }: { text: string }) {
  const plain = text.split(/\n(?:[ \t]*\n)+/).map((paragraph, index) => (
    <p key={`${index} plain`} className={styles.plain}>
      {paragraph}
    </p>
  ));
  return (
    <div className={`${styles.markdown} ${ENDLESS_WORD.test(text) ? styles.endless : ""}`} dir="auto">
      {SYNTAX.test(text) ? (
        <Suspense fallback={plain}>
          <MarkdownParts text={text} />
        </Suspense>
      ) : (
        plain
      )}
    </div>
  );
}
