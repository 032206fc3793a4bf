import { isDeepStrictEqual } from "node:util";
import { ApiError, type ErrorCode } from "../../errors.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { TaskRecord } from "./records.ts";

/** How a delivery is judged. */
type Judging = Pick<TaskRecord, "checks" | "checkKeys" | "acceptOnChecks">;
export const judgingOf = ({ checks, checkKeys, acceptOnChecks }: Judging): Judging => ({
  checks,
  checkKeys,
  acceptOnChecks,
});

/**
 * For a change of a locked task. Throws `budget_locked_by_bids`, `revisions_locked_by_bids` or `checks_locked_by_bids` if it
 * would change what an active bid relies on.
 */
export async function assertNotLockedByBids(
  tx: Transaction,
  task: TaskRecord,
  {
    maxBudgetCents = task.maxBudgetCents,
    revisions = task.revisions,
    judging = judgingOf(task),
  }: { maxBudgetCents?: number | undefined; revisions?: number | undefined; judging?: Judging },
): Promise<void> {
  const changes: [ErrorCode, boolean][] = [
    ["budget_locked_by_bids", maxBudgetCents !== task.maxBudgetCents],
    ["revisions_locked_by_bids", revisions !== task.revisions],
    ["checks_locked_by_bids", !isDeepStrictEqual(judging, judgingOf(task))],
  ];
  const [locked] = changes.find(([, isChanged]) => isChanged) ?? [];
  if (locked === undefined) return;
  // The task's lock keeps out new bids, so the result stays true until the commit.
  const [bid] = await tx.query(sql`SELECT 1 FROM bids WHERE task_id = ${task.id}::uuid AND status = 'active' LIMIT 1`);
  if (bid) throw new ApiError(locked);
}
