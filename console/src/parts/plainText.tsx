import styles from "./markdown.module.css";

/**
 * A word that no language has. Chromium kerns what is left of it again for each of its lines: a word of 20,000 characters
 * took it five seconds, and 8 ms without kerning.
 */
const ENDLESS_WORD = /\S{500}/;

/** The class of whatever shows a text that somebody wrote. */
export const classOfText = (text: string) => `${styles.markdown} ${ENDLESS_WORD.test(text) ? styles.endless : ""}`;

/** What somebody wrote, letter by letter: addresses in it lead nowhere. */
export function PlainText({ text }: { text: string }) {
  return (
    <div className={classOfText(text)} dir="auto">
      <p className={styles.plain}>{text}</p>
    </div>
  );
}
