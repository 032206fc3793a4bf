import { useEffect, useRef, useState } from "react";
import { limitsOf } from "../limits.ts";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/fields.tsx";
import formStyles from "../parts/form.module.css";
import { FormContext, useForm } from "../parts/form.tsx";
import page from "../parts/page.module.css";
import files from "../task/briefFiles.module.css";
import folds from "../task/now.module.css";
import { CheckFields, firstFieldOf } from "./checkFields.tsx";
import styles from "./checks.module.css";
import { CheckWords } from "./checkWords.tsx";
import { newRow, type Row, toCheck, type Wish, wordsOfBounds } from "./rows.ts";
import { TryChecks } from "./tryChecks.tsx";
import type { Judging } from "./useJudging.ts";

interface Offer {
  label: string;
  /** The checks that it begins, each with what is proposed. */
  checks: readonly { wish: Wish; values?: Row["values"] }[];
}

const offers: readonly Offer[] = [
  {
    label: "A PDF of at most 10 MB",
    checks: [
      { wish: "type", values: { type: "application/pdf" } },
      { wish: "size", values: { maxBytes: "10" } },
    ],
  },
  { label: "Another kind of file", checks: [{ wish: "type", values: { type: "image/png,image/jpeg" } }] },
  { label: "A size", checks: [{ wish: "size" }] },
  { label: "A text of so many words", checks: [{ wish: "text" }] },
  { label: "A text that matches a pattern", checks: [{ wish: "pattern" }] },
  { label: "JSON that fits a schema", checks: [{ wish: "json_schema" }] },
  { label: "A CSV with these columns", checks: [{ wish: "csv" }] },
  { label: "An image of so many pixels", checks: [{ wish: "image" }] },
  { label: "A zip with these files", checks: [{ wish: "archive" }] },
  { label: "Exactly this file (SHA-256)", checks: [{ wish: "sha256" }] },
  { label: "My own program reports", checks: [{ wish: "external" }] },
];

/** The checks of a task that is being written: added, filled in, put in order, removed. */
export function Builder({ judging }: { judging: Judging }) {
  const { rows, setRows } = judging;
  const { operation } = useForm();
  const list = useRef<HTMLOListElement>(null);
  const [added, setAdded] = useState<string | null>(null);
  const [status, setStatus] = useState("");
  const { maxItems = 0 } = limitsOf(operation, "checks");
  useEffect(() => {
    if (added !== null)
      list.current?.querySelector<HTMLElement>(`[data-key="${added}"] :is(input, select, textarea)`)?.focus();
  }, [added]);
  const add = ({ checks }: Offer) => {
    const after = [...rows];
    for (const { wish, values } of checks) after.push(newRow(wish, after, values));
    setRows(after);
    setAdded(after[rows.length]?.key ?? null);
  };
  const move = (index: number, by: -1 | 1) => {
    const [moved] = rows.slice(index, index + 1);
    if (moved === undefined) return;
    setRows(rows.toSpliced(index, 1).toSpliced(index + by, 0, moved));
    setStatus(`${moved.values.name} is number ${index + by + 1} of ${rows.length}.`);
  };
  return (
    <div className={styles.rows}>
      {rows.length > 0 && (
        <ol ref={list} className={styles.rows} aria-label="Checks">
          {rows.map((row, index) => (
            <CheckRow
              key={row.key}
              {...{ row, index }}
              isLast={index === rows.length - 1}
              onMove={(by) => move(index, by)}
              onRemove={() => {
                setRows(rows.toSpliced(index, 1));
                setStatus(`${row.values.name} was removed.`);
              }}
            />
          ))}
        </ol>
      )}
      <p role="status" className="visually-hidden">
        {status}
      </p>
      {rows.length < maxItems && <Offers left={maxItems - rows.length} isFirst={rows.length === 0} onChoose={add} />}
      {rows.length > 0 && <TryChecks judging={judging} />}
      {(rows.length > 0 || judging.minutes !== null) && <Accepting judging={judging} />}
    </div>
  );
}

/** What can be asked for, of as many checks as there is room for. */
function Offers({ left, isFirst, onChoose }: { left: number; isFirst: boolean; onChoose: (offer: Offer) => void }) {
  return (
    <details className={folds.more}>
      <summary>{isFirst ? "Add a check" : "Add another check"}</summary>
      <div className={styles.offers}>
        {offers
          .filter(({ checks }) => checks.length <= left)
          .map((offer) => (
            <Button key={offer.label} size="small" onClick={() => onChoose(offer)}>
              {offer.label}
            </Button>
          ))}
      </div>
    </details>
  );
}

interface CheckRowProps {
  row: Row;
  index: number;
  isLast: boolean;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
}

/** One check: what it says so far, and its fields. */
function CheckRow({ row, index, isLast, onMove, onRemove }: CheckRowProps) {
  const form = useForm();
  const path = `checks.${index}`;
  // What is wrong with the check as a whole stands beside its first field.
  const issues = form.issues.map((issue) =>
    issue.path === path ? { path: `${path}.${firstFieldOf(row.wish)}`, message: wordsOfBounds(issue.message) } : issue,
  );
  const name = row.values.name || "this check";
  return (
    <li data-key={row.key} className={page.card}>
      <header className={styles.head}>
        <p>
          <b>{index + 1}.</b> <CheckWords check={toCheck(row, () => undefined)} isDraft />
        </p>
        <div className={files.buttons}>
          <Button size="small" disabled={index === 0} onClick={() => onMove(-1)}>
            <span aria-hidden="true">↑</span>
            <span className="visually-hidden">Move {name} up</span>
          </Button>
          <Button size="small" disabled={isLast} onClick={() => onMove(1)}>
            <span aria-hidden="true">↓</span>
            <span className="visually-hidden">Move {name} down</span>
          </Button>
          <Button size="small" onClick={onRemove}>
            Remove<span className="visually-hidden"> {name}</span>
          </Button>
        </div>
      </header>
      <FormContext value={{ ...form, issues }}>
        <CheckFields row={row} path={path} />
        <div className={styles.bounds}>
          <TextField name={`${path}.name`} label="Name" autoComplete="off" defaultValue={row.values.name} />
          <div className={`${formStyles.choices} ${styles.beside}`}>
            <label>
              <input type="checkbox" name={`${path}.required`} defaultChecked={row.values.required === "on"} />
              <span>It must pass</span>
            </label>
          </div>
        </div>
      </FormContext>
    </li>
  );
}

/** Whether passed checks pay, and after how long. */
function Accepting({ judging: { minutes, setMinutes } }: { judging: Judging }) {
  const { issues } = useForm();
  const messages = issues.filter(({ path }) => path === "acceptOnChecks");
  return (
    <div className={styles.accepting}>
      <div className={formStyles.choices}>
        <label>
          <input
            type="checkbox"
            name="acceptOnChecks"
            checked={minutes !== null}
            aria-invalid={messages.length > 0}
            aria-describedby={messages.length > 0 ? "accept-on-checks-problem" : undefined}
            onChange={() => setMinutes(minutes === null ? "60" : null)}
          />
          <span>
            Pay by itself when all checks that must pass have passed{" "}
            <small>
              Bidders like it: they are paid without waiting for you. You can still accept, dispute or ask for changes
              before. What need not pass is shown, and holds nothing up.
            </small>
          </span>
        </label>
      </div>
      {messages.length > 0 && (
        <p id="accept-on-checks-problem" className={formStyles.problem}>
          {messages.map(({ message }) => message.replace(/^`[^`]+`/, "This")).join(" ")}
        </p>
      )}
      {minutes !== null && (
        <TextField
          name="acceptOnChecks.afterMinutes"
          label="Minutes that you have to look at it first"
          hint={`From 0, at once, to ${(limitsOf("tasks.create", "acceptOnChecks.afterMinutes").maximum ?? 0).toLocaleString("en-US")}, two days.`}
          inputMode="decimal"
          autoComplete="off"
          defaultValue={minutes}
        />
      )}
    </div>
  );
}
