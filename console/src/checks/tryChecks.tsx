import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, failureOf, type NewCheck } from "../api/client.ts";
import { limitsOf } from "../limits.ts";
import { FieldReader, type Issue } from "../parts/fieldReader.ts";
import { formatBytes } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Problem } from "../parts/problem.tsx";
import { DropZone } from "../task/dropZone.tsx";
import { typeOf } from "../task/putFile.ts";
import { Checklist } from "./checklist.tsx";
import styles from "./checks.module.css";
import { type Row, toCheck, wordsOfBounds } from "./rows.ts";
import type { Judging } from "./useJudging.ts";

/** The bytes that base64 of the longest text has. */
const MAX_BYTES = ((limitsOf("tasks.preflight", "content").maxLength ?? 0) / 4) * 3;

interface Tried {
  checks: NewCheck[];
  file: File;
}

/** Judges a file by the checks as they are written now, so that their buyer sees what they do before anybody bids. */
export function TryChecks({ judging }: { judging: Judging }) {
  const { rows } = judging;
  const part = useRef<HTMLDivElement>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const attempt = useMutation({
    mutationFn: async ({ checks, file }: Tried) =>
      api.tasks.preflight.mutate({ checks, mimeType: typeOf(file), content: await base64Of(file) }),
  });
  const start = (file: File) => {
    const form = part.current?.closest("form");
    if (!form) return;
    attempt.reset();
    const fields = new FieldReader(form);
    const { checks } = judging.read(fields);
    const unread = fields.issues.find(isOfCheck);
    const refused = file.size > MAX_BYTES || file.size === 0 ? WRONG_SIZE : unread && sayWhere(unread, rows);
    setRefusal(refused ?? null);
    if (refused === undefined) attempt.mutate({ checks, file });
  };
  // What was tried before a change says nothing about what is there now.
  const checks = rows.map((row) => toCheck(row, () => undefined));
  const isCurrent = JSON.stringify(attempt.variables?.checks) === JSON.stringify(checks);
  const issue = failureOf(attempt.error)?.issues?.find(isOfCheck);
  const problem = refusal ?? (isCurrent && issue ? sayWhere(issue, rows) : null);
  return (
    <div ref={part} className={styles.rows}>
      <DropZone
        label={attempt.isPending ? "Trying…" : "Try them on a file"}
        hint={`One of at most ${formatBytes(MAX_BYTES)}, such as you would like to get. Nothing of it is kept.`}
        onChoose={([file]) => file && start(file)}
      />
      {problem !== null && (
        <Notice kind="bad" alert>
          {problem}
        </Notice>
      )}
      {isCurrent && attempt.data && <Checklist results={attempt.data.checks} checks={checks} isTrial />}
      {isCurrent && attempt.error && !issue && <Problem error={attempt.error} />}
    </div>
  );
}

const WRONG_SIZE = `A file to try here has 1 byte to ${formatBytes(MAX_BYTES)}. Whoever is chosen can try larger ones.`;

const isOfCheck = ({ path }: Issue) => path.startsWith("checks.");

/** What is wrong with which of the checks. */
function sayWhere({ path, message }: Issue, rows: readonly Row[]): string {
  const [, number = "0", field] = path.split(".");
  const name = rows[Number(number)]?.values.name;
  const what = field === undefined ? wordsOfBounds(message) : message.replace(/^`[^`]+` ?/, "It ");
  return `Check ${Number(number) + 1}, “${name}”: ${what}`;
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
