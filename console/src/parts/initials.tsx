import styles from "./initials.module.css";

/** The first letters of a name, in a circle. */
export function Initials({ name }: { name: string }) {
  const letters = name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0] ?? "")
    .join("");
  // Not as text: a name that is read out is always beside it.
  return <span className={styles.initials} data-letters={letters.toUpperCase()} aria-hidden="true" />;
}
