import type { Services } from "../../services.ts";
import { empty, sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { moveTask } from "./moveTask.ts";
import { lockTask } from "./records.ts";
import { decideTaskAction, isAcceptedByChecks, momentOf } from "./rules.ts";

/**
 * Accepts a delivery whose acceptance window has passed, or whose checks have, and records that as the time of acceptance. Does
 * nothing when the state table refuses: the job came too early, ran before, or the task was accepted or disputed in the
 * meantime.
 */
export async function acceptDelivery(services: Services, { taskId }: JobPayload<"acceptDelivery">): Promise<void> {
  await services.database.transaction(async (tx) => {
    const task = await lockTask(tx, taskId);
    const moment = momentOf(services);
    const [action, actor] = isAcceptedByChecks(task)
      ? (["acceptOnChecks", "checks"] as const)
      : (["release", "clock"] as const);
    if (decideTaskAction(action, task, actor, moment).refused !== null) return;
    await moveTask(tx, action, task, { actor, moment });
  });
}

/** When a delivered task is accepted, if nobody moves it before. */
const dueAt = sql`coalesce(accepts_at, acceptance_deadline_at)`;

/** Returns delivered tasks that are to be accepted, in order of that time, starting after `after`. */
export function findDueDeliveries(
  { database, clock }: Services,
  limit: number,
  after: { taskId: string } | null,
): Promise<{ taskId: string }[]> {
  return database.query<{ taskId: string }>(sql`
    SELECT id AS "taskId" FROM tasks
    WHERE status = 'delivered' AND ${dueAt} <= ${clock.now().toISOString()}::timestamptz
      ${after === null ? empty : sql`AND (${dueAt}, id) > (SELECT ${dueAt}, id FROM tasks WHERE id = ${after.taskId}::uuid)`}
    ORDER BY ${dueAt}, id LIMIT ${limit}`);
}
