import { timestampOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { getAwardedBid, scheduleDeadline } from "../tasks/moveTask.ts";
import { type TaskRecord, updateTask } from "../tasks/records.ts";
import { type Moment, taskAt } from "../tasks/rules.ts";
import { type StoredResult, shownResults } from "../uploads/checkResults.ts";

/** What of a delivery decides whether its checks accept it. */
export interface CheckedDelivery {
  id: string;
  checks: StoredResult[];
  endedChecks: string[] | null;
  supersededAt: string | null;
  changesRequested: boolean;
}

const MINUTE_MS = 60_000;

/**
 * When its checks accept a delivery: some time after the last required one has passed, never later than the window ends. Null
 * if they do not. Once changes were requested on it, checks never accept it. What has been set stays while all pass.
 */
export function acceptsAtOf(
  task: Pick<TaskRecord, "status" | "acceptOnChecks" | "acceptsAt" | "acceptanceDeadlineAt">,
  { checks, supersededAt, changesRequested }: Omit<CheckedDelivery, "id" | "endedChecks">,
  now: Date,
): string | null {
  const { acceptOnChecks, acceptanceDeadlineAt } = task;
  if (task.status !== "delivered" || acceptOnChecks === null || acceptanceDeadlineAt === null) return null;
  if (supersededAt !== null || changesRequested) return null;
  const required = checks.filter((check) => check.required);
  if (required.length === 0 || required.some(({ conclusion }) => conclusion !== "passed")) return null;
  if (task.acceptsAt) return task.acceptsAt;
  const at = new Date(now.getTime() + acceptOnChecks.afterMinutes * MINUTE_MS);
  return at < new Date(acceptanceDeadlineAt) ? timestampOf(at) : acceptanceDeadlineAt;
}

/**
 * Records what the checks of a delivery have come to, whose task is locked; whether they now accept it; and the event. Built-in
 * checks have ended with it.
 */
export async function recordResults(
  tx: Transaction,
  task: TaskRecord,
  delivery: CheckedDelivery,
  moment: Moment,
  { endsBuiltIn }: { endsBuiltIn: boolean },
): Promise<void> {
  await tx.query(sql`
    UPDATE artifacts SET checks = ${JSON.stringify(delivery.checks)}::jsonb,
           checking = checking AND NOT ${endsBuiltIn}::boolean
    WHERE id = ${delivery.id}::uuid`);
  const current = taskAt(task, moment);
  const acceptsAt = acceptsAtOf(current, delivery, moment.now);
  let recorded = task;
  if (task.status === "delivered" && delivery.supersededAt === null && acceptsAt !== (task.acceptsAt ?? null)) {
    recorded = await updateTask(tx, task.id, sql`accepts_at = ${acceptsAt}::timestamptz`);
    scheduleDeadline(tx, recorded, moment);
  }
  const bid = await getAwardedBid(tx, recorded);
  const checks = shownResults(delivery, false);
  const records = { task: recorded, bid, delivery: { id: delivery.id, checks } };
  tx.events.record("delivery.checked", records, [task.buyerId, bid.bidder.id]);
}
