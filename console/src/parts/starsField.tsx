import { useId } from "react";
import form from "./form.module.css";
import { isAbout, useForm } from "./form.tsx";
import { plural } from "./format.ts";
import styles from "./starsField.module.css";
import { wordsOf } from "./words.ts";

/** What each number of stars says, from one on. */
const meanings = ["Poor", "Fair", "Good", "Very good", "Excellent"] as const;

/** One to five stars, of which none is chosen at first. To the keyboard and to screen readers they are radio buttons. */
export function StarsField({ name, label }: { name: string; label: string }) {
  const { issues } = useForm();
  const id = useId();
  const messages = issues.filter((issue) => isAbout(issue, name)).map((issue) => wordsOf(issue, label));
  return (
    <fieldset className={form.field} aria-describedby={messages.length > 0 ? `${id}-problem` : undefined}>
      <legend>{label}</legend>
      <div className={styles.stars}>
        {meanings.map((meaning, index) => (
          <label key={meaning}>
            <input type="radio" name={name} value={index + 1} required aria-invalid={messages.length > 0} />
            <span className={styles.star} aria-hidden="true">
              ★
            </span>
            <span className="visually-hidden">{plural(index + 1, "star")}, </span>
            <span className={styles.meaning}>{meaning.toLowerCase()}</span>
          </label>
        ))}
      </div>
      {messages.length > 0 && (
        <p id={`${id}-problem`} className={form.problem}>
          {messages.join(" ")}
        </p>
      )}
    </fieldset>
  );
}
