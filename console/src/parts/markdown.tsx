import { lazy, Suspense } from "react";
import styles from "./markdown.module.css";
import { classOfText } from "./plainText.tsx";

const MarkdownParts = lazy(() => import("./markdownParts.tsx").then((file) => ({ default: file.MarkdownParts })));

/** Something that Markdown may read as more than words: only then its library, 16 kB, is loaded. */
const SYNTAX = /[\\`*_[\]<>~|&@]|:\/\/|www\.|^\s*(?:[-+=#]|\d+[.)])|^(?: {4}| *\t)| {2}$/im;

/** What somebody wrote, as Markdown. */
export function Markdown({ text }: { text: string }) {
  const plain = text.split(/\n(?:[ \t]*\n)+/).map((paragraph, index) => (
    <p key={`${index} plain`} className={styles.plain}>
      {paragraph}
    </p>
  ));
  return (
    <div className={classOfText(text)} dir="auto">
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
