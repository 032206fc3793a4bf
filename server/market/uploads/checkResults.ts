import { type Check, isBuiltIn } from "../../schemas/check.ts";
import type { CheckResult, Verdict } from "../../schemas/checkResult.ts";
import { timestampOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";

/** What a check came to, as the delivery's row has it. */
export type StoredResult = CheckResult & { hidden?: boolean };

/** The checks of a delivery, as its row has them. */
export interface CheckedRow {
  /** Null for a task without checks. */
  checks: StoredResult[] | null;
  /** The names of checks whose API key has ended. */
  endedChecks: string[] | null;
}

/** What the checks of a new delivery have come to: nothing yet. */
export function pendingResults(checks: readonly Check[]): StoredResult[] {
  return checks.map((check) => ({
    ...{ name: check.name, kind: check.kind, required: check.required },
    ...{ conclusion: "pending", summary: null, finishedAt: null },
    ...(check.kind === "external" && check.hidden && { hidden: true }),
  }));
}

/** The results after the built-in checks, in their order, have these verdicts. Other checks may have been reported since. */
export function withVerdicts(
  results: StoredResult[],
  checks: readonly Check[],
  verdicts: Verdict[],
  at: Date,
): StoredResult[] {
  const named = new Map(checks.filter(isBuiltIn).map(({ name }, index) => [name, verdicts[index]]));
  return results.map((result) => {
    const verdict = named.get(result.name);
    return verdict === undefined ? result : { ...result, ...verdict, finishedAt: timestampOf(at) };
  });
}

/**
 * The results as somebody may see them: a bidder learns no reasons of a hidden check before the task has ended. A check whose
 * key has ended without a report will never have one.
 */
export function shownResults({ checks, endedChecks }: CheckedRow, knowsHidden: boolean): CheckResult[] {
  return (checks ?? []).map(({ hidden, detailsUrl, ...result }) => {
    const hasEnded = result.conclusion === "pending" && (endedChecks ?? []).includes(result.name);
    if (hasEnded) return { ...result, conclusion: "error", summary: "The API key that was to report has ended." };
    if (hidden && !knowsHidden) return { ...result, summary: null };
    return { ...result, ...(detailsUrl !== undefined && { detailsUrl }) };
  });
}

/** The names of the external checks of `artifacts a` whose API key has ended, as an array; null without checks. */
export const endedChecks = sql`
  CASE WHEN a.checks IS NOT NULL THEN ARRAY(
    SELECT k.name FROM tasks kt CROSS JOIN LATERAL jsonb_each_text(kt.check_keys) AS k (name, id)
    WHERE kt.id = a.task_id AND NOT EXISTS (
      SELECT FROM api_keys live WHERE live.id = k.id::uuid AND live.revoked_at IS NULL AND live.expires_at > service_now())) END`;
