import { useEffect, useState } from "react";
import type { NewCheck, Task } from "../api/client.ts";
import { restOf } from "../api/draft.ts";
import type { FieldReader } from "../parts/fieldReader.ts";
import { type Row, rowOf, toCheck } from "./rows.ts";

/** How a delivery will be judged, as the form of a task has it. */
export interface Judging {
  rows: readonly Row[];
  setRows(rows: readonly Row[]): void;
  /** Minutes until the task is accepted by its checks; null for never. */
  minutes: string | null;
  setMinutes(minutes: string | null): void;
  /** Notes what the fields have now. */
  watch(fields: FieldReader): void;
  /** What the API takes. */
  read(fields: FieldReader): { checks: NewCheck[]; acceptOnChecks: { afterMinutes: number } | null };
}

interface Kept {
  rows: readonly Row[];
  minutes: string | null;
}

/** Beside the texts of the form's draft, because these fields are there only once their checks are. */
function readKept(draft: string): Kept | null {
  try {
    return JSON.parse(sessionStorage.getItem(restOf(draft)) ?? "null");
  } catch {
    // Nothing that could be restored.
    return null;
  }
}

function keep(draft: string, kept: Kept): void {
  try {
    sessionStorage.setItem(restOf(draft), JSON.stringify(kept));
  } catch {
    // Without storage, a reload begins anew.
  }
}

/** What the fields have now; rows whose fields are not loaded yet stay as they are. */
const nowIn = (fields: FieldReader, rows: readonly Row[]) =>
  rows.map((row, index) => {
    const path = `checks.${index}.`;
    return fields.has(`${path}name`) ? { ...row, values: fields.under(path) } : row;
  });

const AFTER = "acceptOnChecks.afterMinutes";

/** The checks of a form, and whether they pay. With a draft, they survive a reload. */
export function useJudging({ task, draft }: { task?: Task; draft?: string }): Judging {
  const [state, setState] = useState<Kept>(() => {
    const kept = draft === undefined ? null : readKept(draft);
    const after = task?.acceptOnChecks?.afterMinutes;
    return kept ?? { rows: task?.checks.map(rowOf) ?? [], minutes: after === undefined ? null : `${after}` };
  });
  useEffect(() => {
    if (draft !== undefined) keep(draft, state);
  }, [draft, state]);
  const { rows, minutes } = state;
  return {
    ...{ rows, minutes },
    setRows: (changed) => setState((before) => ({ ...before, rows: changed })),
    setMinutes: (changed) => setState((before) => ({ ...before, minutes: changed })),
    watch: (fields) =>
      setState((before) => ({
        rows: nowIn(fields, before.rows),
        minutes: before.minutes !== null && fields.has(AFTER) ? fields.text(AFTER) : before.minutes,
      })),
    read: (fields) => ({
      checks: nowIn(fields, rows).map((row, index) =>
        toCheck(row, (field, message) => fields.issues.push({ path: `checks.${index}.${field}`, message })),
      ),
      acceptOnChecks: minutes === null ? null : { afterMinutes: fields.number(AFTER) },
    }),
  };
}
