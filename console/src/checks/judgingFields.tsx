import { lazy, Suspense } from "react";
import styles from "../parts/form.module.css";
import { useForm } from "../parts/form.tsx";
import type { Judging } from "./useJudging.ts";

// Many tasks have no checks.
const Builder = lazy(() => import("./builder.tsx").then((file) => ({ default: file.Builder })));

/** The part of a task's form that says how a delivery is judged, and whether that pays. */
export function JudgingFields({ judging }: { judging: Judging }) {
  const { issues } = useForm();
  const messages = issues.filter(({ path }) => path === "checks").map(({ message }) => message);
  return (
    // By its name, the form knows that whatever is wrong with a check is shown in here.
    <fieldset name="checks" className={styles.field}>
      <legend>
        Checks<span className={styles.optional}> optional</span>
      </legend>
      <p className={styles.hint}>
        What a delivery is judged by, at once and by itself. Bidders see it before they bid, and try their file on it
        before they deliver.
      </p>
      <Suspense>
        <Builder judging={judging} />
      </Suspense>
      {messages.length > 0 && (
        <p className={styles.problem} role="alert">
          {messages.join(" ").replace(/^`[^`]+`/, "The checks")}
        </p>
      )}
    </fieldset>
  );
}
