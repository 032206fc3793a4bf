import type { Services } from "../../services.ts";
import { empty, sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { moveTask } from "./moveTask.ts";
import { lockTask } from "./records.ts";
import { decideTaskAction, momentOf } from "./rules.ts";

/**
 * Expires an awarded task that was not delivered in time, records the end of the grace period as the time of expiry,
 * and returns the hold. Does nothing when the state table refuses: the job came too early, ran before, or the task was
 * delivered in the meantime.
 */
export async function expireTask(services: Services, { taskId }: JobPayload<"expireTask">): Promise<void> {
  await services.database.transaction(async (tx) => {
    const task = await lockTask(tx, taskId);
    const moment = momentOf(services);
    if (decideTaskAction("expire", task, "clock", moment).refused !== null) return;
    await moveTask(tx, "expire", task, { actor: "clock", moment });
  });
}

/** Returns awarded tasks whose grace period has passed, in order of their due time, starting after `after`. */
export function findOverdueTasks(
  { database, clock, settings }: Services,
  limit: number,
  after: { taskId: string } | null,
): Promise<{ taskId: string }[]> {
  const dueBefore = new Date(clock.now().getTime() - settings.deliveryGraceSeconds * 1000);
  return database.query<{ taskId: string }>(sql`
    SELECT id AS "taskId" FROM tasks
    WHERE status = 'awarded' AND delivered_at IS NULL AND delivery_due_at <= ${dueBefore.toISOString()}::timestamptz
      ${after === null ? empty : sql`AND (delivery_due_at, id) > (SELECT delivery_due_at, id FROM tasks WHERE id = ${after.taskId}::uuid)`}
    ORDER BY delivery_due_at, id LIMIT ${limit}`);
}
