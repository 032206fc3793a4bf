import { ApiError } from "../../errors.ts";
import { type Check, isBuiltIn, type NewCheck } from "../../schemas/check.ts";
import type { InputIssue } from "../../schemas/inputIssue.ts";
import type { Services } from "../../services.ts";
import { type Connection, type Sql, sql } from "../../store/connection.ts";
import { Turns } from "../../turns.ts";
import type { TaskRecord } from "../tasks/records.ts";

/** Returns which of these API keys are the user's, live, and may report. */
export async function findReportingKeys(
  connection: Connection,
  userId: string,
  keyIds: string[],
): Promise<Set<string>> {
  if (keyIds.length === 0) return new Set();
  const keys = await connection.query<{ id: string }>(sql`
    SELECT id FROM api_keys
    WHERE id = ANY (${keyIds}::uuid[]) AND user_id = ${userId}::uuid AND 'check:write' = ANY (scopes)
      AND revoked_at IS NULL AND expires_at > service_now()`);
  return new Set(keys.map(({ id }) => id));
}

const NO_KEY = "Must be one of your API keys with the scope check:write that has not ended.";

/** An `invalid_input` about a key that may not report. */
export const noReportingKey = (path: string) => new ApiError("invalid_input", { issues: [{ path, message: NO_KEY }] });

/** What is stored of the checks that a buyer sets: the keys are apart, because only the buyer sees them. */
export function storedChecks(checks: readonly NewCheck[] = []): { checks: Check[]; checkKeys: Record<string, string> } {
  const external = checks.flatMap((check) => (check.kind === "external" ? [[check.name, check.keyId] as const] : []));
  const withoutKeys = checks.map((check): Check => {
    if (check.kind !== "external") return check;
    const { keyId: _, ...rest } = check;
    return rest;
  });
  return { checks: withoutKeys, checkKeys: Object.fromEntries(external) };
}

/** The checks as the buyer sees them, each with the key that reports. */
export const checksWithKeys = ({
  checks,
  checkKeys,
}: {
  checks: Check[];
  checkKeys: Record<string, string>;
}): Check[] => checks.map((check) => (check.kind === "external" ? { ...check, keyId: checkKeys[check.name] } : check));

/** Users take turns at the judge: whoever tries many files, or checks, delays another by one. */
export const judging = new Turns({ running: 2, waiting: 200, waitingPerKey: 10 });

interface JudgingInput {
  checks?: readonly NewCheck[] | undefined;
  acceptOnChecks?: { afterMinutes: number } | null | undefined;
}

/**
 * Throws `invalid_input` if a key may not report, if a check can judge nothing, such as an expression or a schema that is none, and if
 * checks are to accept a delivery and none of them is required. `at` is where the input stands, such as `forTask.`.
 */
export async function assertUsable(
  { database, judge, userId }: Pick<Services, "database" | "judge"> & { userId: string },
  { checks = [], acceptOnChecks = null }: JudgingInput,
  at = "",
): Promise<void> {
  assertCanAccept(checks, acceptOnChecks, at);
  const issues = await issuesOfKeys(database, userId, checks, at);
  for (const [index, check] of checks.entries()) {
    if (!isBuiltIn(check) || (check.kind !== "text" && check.kind !== "json_schema")) continue;
    const fault = await judging.run({ key: userId }, () => judge.faultOf(check));
    const field = check.kind === "text" ? "matches" : "schema";
    if (fault !== null)
      issues.push({ path: `${at}checks.${index}.${field}`, message: `Cannot be used: ${fault.slice(0, 300)}` });
  }
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
}

/** What is wrong with the keys that are to report. */
async function issuesOfKeys(
  connection: Connection,
  userId: string,
  checks: readonly NewCheck[],
  at: string,
): Promise<InputIssue[]> {
  const keyIds = checks.flatMap((check) => (check.kind === "external" ? [check.keyId] : []));
  const reporting = await findReportingKeys(connection, userId, keyIds);
  return checks.flatMap((check, index) =>
    check.kind !== "external" || reporting.has(check.keyId)
      ? []
      : [{ path: `${at}checks.${index}.keyId`, message: NO_KEY }],
  );
}

/** Throws `invalid_input` if a key may no longer report: for checks that were usable when they were asked for. */
export async function assertKeysReport(
  connection: Connection,
  userId: string,
  checks: readonly NewCheck[],
): Promise<void> {
  const issues = await issuesOfKeys(connection, userId, checks, "");
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
}

/** Throws `invalid_input` if checks are to accept a delivery, and none of them is required. */
function assertCanAccept(checks: readonly Pick<Check, "required">[], acceptOnChecks: object | null, at = ""): void {
  if (acceptOnChecks === null || checks.some(({ required }) => required)) return;
  const message = "Needs at least one check that is required.";
  throw new ApiError("invalid_input", { issues: [{ path: `${at}acceptOnChecks`, message }] });
}

type Judging = Pick<TaskRecord, "checks" | "checkKeys" | "acceptOnChecks">;

/** How a delivery is judged after a change of a task. Throws `invalid_input` if nothing could accept it, and something should. */
export function judgingAfter(task: Judging, { checks, acceptOnChecks = task.acceptOnChecks }: JudgingInput): Judging {
  const { checkKeys } = task;
  const after = checks === undefined ? { checks: task.checks, checkKeys } : storedChecks(checks);
  assertCanAccept(after.checks, acceptOnChecks);
  return { ...after, acceptOnChecks };
}

/** The assignments for such a change. */
export function judgingChanges(input: JudgingInput, { checks, checkKeys, acceptOnChecks }: Judging): Sql[] {
  const [ofChecks, ofKeys] = [JSON.stringify(checks), JSON.stringify(checkKeys)];
  return [
    ...(input.checks === undefined ? [] : [sql`checks = ${ofChecks}::jsonb, check_keys = ${ofKeys}::jsonb`]),
    ...(input.acceptOnChecks === undefined
      ? []
      : [sql`accept_after_minutes = ${acceptOnChecks?.afterMinutes ?? null}::smallint`]),
  ];
}
