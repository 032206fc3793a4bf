import { ApiError } from "../../errors.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { TaskRecord } from "./records.ts";

/**
 * For a change of a locked task. Throws `budget_locked_by_bids` or `revisions_locked_by_bids` if it would change what an active
 * bid relies on.
 */
export async function assertNotLockedByBids(
  tx: Transaction,
  task: TaskRecord,
  {
    maxBudgetCents = task.maxBudgetCents,
    revisions = task.revisions,
  }: { maxBudgetCents?: number | undefined; revisions?: number | undefined },
): Promise<void> {
  const [changesBudget, changesRevisions] = [maxBudgetCents !== task.maxBudgetCents, revisions !== task.revisions];
  if (!changesBudget && !changesRevisions) return;
  // The task's lock keeps out new bids, so the result stays true until the commit.
  const [bid] = await tx.query(sql`SELECT 1 FROM bids WHERE task_id = ${task.id}::uuid AND status = 'active' LIMIT 1`);
  if (bid) throw new ApiError(changesBudget ? "budget_locked_by_bids" : "revisions_locked_by_bids");
}
