import { ApiError } from "../../errors.ts";
import { type CreateExport, exportFormats } from "../../schemas/export.ts";
import type { InputIssue } from "../../schemas/inputIssue.ts";
import type { Settings } from "../../services.ts";
import type { Transaction } from "../../store/database.ts";
import { assertReceipt } from "./receipts.ts";
import { readStatement } from "./statements.ts";

/**
 * Throws `invalid_input` for fields that do not fit together, `not_found` for a month that the wallet does not have and for a payment of
 * somebody else, and `wrong_status` for a receipt of what is not paid.
 */
export async function assertFits(
  tx: Transaction,
  { userId, settings }: { userId: string; settings: Pick<Settings, "operatorTimeZone"> },
  input: CreateExport,
): Promise<void> {
  const issues = problemsOf(input);
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
  if (input.kind === "receipt") return assertReceipt(tx, userId, input);
  if (input.month === undefined) return;
  const statement = await readStatement(tx, userId, { month: input.month, timeZone: settings.operatorTimeZone });
  if (statement === null) throw new ApiError("not_found", { message: "Your wallet has no statement of this month." });
}

const subjectNames = ["taskId", "topupId", "payoutId"] as const;

function problemsOf({ kind, format, month, ...subjects }: CreateExport): InputIssue[] {
  const formats: readonly string[] = exportFormats[kind];
  const issues: InputIssue[] = [];
  if (!formats.includes(format)) issues.push({ path: "format", message: `Of ${kind}: ${formats.join(" or ")}.` });
  if (kind === "statement" && month === undefined) issues.push({ path: "month", message: "A statement needs it." });
  if (kind !== "statement" && month !== undefined) issues.push({ path: "month", message: "Only a statement has it." });
  const named = subjectNames.filter((name) => subjects[name] !== undefined);
  if (kind === "receipt" && named.length !== 1) {
    issues.push({
      path: named[1] ?? "taskId",
      message: "A receipt needs exactly one of taskId, topupId and payoutId.",
    });
  }
  if (kind !== "receipt") {
    for (const name of named) issues.push({ path: name, message: "Only a receipt has it." });
  }
  return issues;
}
