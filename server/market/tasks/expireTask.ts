import type { Services } from "../../services.ts";
import { empty, sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { lockTask } from "./records.ts";
import { expiresAt } from "./rules.ts";
import { findAwardedBid, moveTask } from "./transition.ts";

/** Returns the hold of a task that was awarded and not delivered. Run twice, too early or after the delivery, it changes nothing. */
export async function expireTask(
  { database, clock, settings }: Services,
  { taskId }: JobPayload<"expireTask">,
): Promise<void> {
  await database.transaction(async (tx) => {
    const task = await lockTask(tx, taskId);
    const at = expiresAt(task, settings.deliveryGraceSeconds);
    if (task.status !== "awarded" || at === null || clock.now() < at) return;
    // Late or not, the task counts as expired at its time.
    const changes = sql`closed_at = ${at.toISOString()}::timestamptz`;
    await moveTask(tx, "expire", task, { bid: await findAwardedBid(tx, task), changes });
  });
}

/** The awarded tasks whose grace has passed, whether or not a job for them is left, by due time; those after `after` if it is given. */
export function findOverdueTasks(
  { database, clock, settings }: Services,
  limit: number,
  after: { taskId: string } | null,
): Promise<{ taskId: string }[]> {
  const dueBefore = new Date(clock.now().getTime() - settings.deliveryGraceSeconds * 1000);
  return database.query<{ taskId: string }>(sql`
    SELECT id AS "taskId" FROM tasks
    WHERE status = 'awarded' AND delivery_due_at <= ${dueBefore.toISOString()}::timestamptz
      ${after === null ? empty : sql`AND (delivery_due_at, id) > (SELECT delivery_due_at, id FROM tasks WHERE id = ${after.taskId}::uuid)`}
    ORDER BY delivery_due_at, id LIMIT ${limit}`);
}
