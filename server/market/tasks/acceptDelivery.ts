import type { Services } from "../../services.ts";
import { empty, sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { moveTask } from "./moveTask.ts";
import { lockTask } from "./records.ts";
import { decideTaskAction, momentOf } from "./rules.ts";

/**
 * Accepts a delivery whose acceptance window has passed, and records the deadline as the time of acceptance. Does
 * nothing when the state table refuses: the job came too early, ran before, or the task was accepted or disputed in the
 * meantime.
 */
export async function acceptDelivery(services: Services, { taskId }: JobPayload<"acceptDelivery">): Promise<void> {
  await services.database.transaction(async (tx) => {
    const task = await lockTask(tx, taskId);
    const moment = momentOf(services);
    if (decideTaskAction("release", task, "clock", moment).refused !== null) return;
    await moveTask(tx, "release", task, { actor: "clock", moment });
  });
}

/** Returns delivered tasks whose window has passed, in order of deadline, starting after `after`. */
export function findDueDeliveries(
  { database, clock }: Services,
  limit: number,
  after: { taskId: string } | null,
): Promise<{ taskId: string }[]> {
  return database.query<{ taskId: string }>(sql`
    SELECT id AS "taskId" FROM tasks
    WHERE status = 'delivered' AND acceptance_deadline_at <= ${clock.now().toISOString()}::timestamptz
      ${after === null ? empty : sql`AND (acceptance_deadline_at, id) > (SELECT acceptance_deadline_at, id FROM tasks WHERE id = ${after.taskId}::uuid)`}
    ORDER BY acceptance_deadline_at, id LIMIT ${limit}`);
}
