import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, failureOf, type NewCheck } from "../api/client.ts";
import { limitsOf } from "../limits.ts";
import type { Issue } from "../parts/fieldReader.ts";
import { formatBytes } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Problem } from "../parts/problem.tsx";
import { DropZone } from "../task/dropZone.tsx";
import { typeOf } from "../task/putFile.ts";
import { Checklist } from "./checklist.tsx";
import { type Row, toCheck } from "./rows.ts";

/** The bytes that base64 of the longest text has. */
const MAX_BYTES = ((limitsOf("tasks.preflight", "content").maxLength ?? 0) / 4) * 3;

interface Tried {
  checks: NewCheck[];
  file: File;
}

/** Judges a file by the checks as they are written now, so that their buyer sees what they do before anybody bids. */
export function TryChecks({ rows }: { rows: readonly Row[] }) {
  const [missing, setMissing] = useState<string | null>(null);
  const attempt = useMutation({
    mutationFn: async ({ checks, file }: Tried) =>
      api.tasks.preflight.mutate({ checks, mimeType: typeOf(file), content: await base64Of(file) }),
  });
  const unread: Issue[] = [];
  const checks = rows.map((row, index) =>
    toCheck(row, (field, message) => unread.push({ path: `checks.${index}.${field}`, message })),
  );
  const start = (file: File) => {
    attempt.reset();
    const [first] = unread;
    const refusal =
      file.size > MAX_BYTES || file.size === 0
        ? `A file to try here has 1 byte to ${formatBytes(MAX_BYTES)}. Whoever is chosen can try larger ones.`
        : first && sayWhere(first, rows);
    setMissing(refusal ?? null);
    if (refusal === undefined) attempt.mutate({ checks, file });
  };
  // What was tried before a change says nothing about what is there now.
  const isCurrent = JSON.stringify(attempt.variables?.checks) === JSON.stringify(checks);
  const issues = failureOf(attempt.error)?.issues?.filter(({ path }) => path.startsWith("checks."));
  return (
    <>
      <DropZone
        label={attempt.isPending ? "Trying…" : "Try them on a file"}
        hint={`One of at most ${formatBytes(MAX_BYTES)}, such as you would like to get. Nothing of it is kept.`}
        onChoose={([file]) => file && start(file)}
      />
      {missing !== null && (
        <Notice kind="bad" alert>
          {missing}
        </Notice>
      )}
      {isCurrent && attempt.data && <Checklist results={attempt.data.checks} checks={checks} isTrial />}
      {isCurrent && attempt.error && issues?.[0] && (
        <Notice kind="bad" alert>
          {sayWhere(issues[0], rows)}
        </Notice>
      )}
      {isCurrent && attempt.error && !issues?.[0] && <Problem error={attempt.error} />}
    </>
  );
}

/** What is wrong with which of the checks. */
function sayWhere({ path, message }: Issue, rows: readonly Row[]): string {
  const index = Number(path.split(".")[1]);
  return `Check ${index + 1}, “${rows[index]?.values.name}”: ${message.replace(/^`[^`]+` ?/, "it ")}`;
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
