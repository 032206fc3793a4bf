import type { Services } from "../../services.ts";
import { empty, sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { lockTask } from "./records.ts";
import { isPastAcceptance } from "./rules.ts";
import { settleDelivery } from "./settle.ts";

/** Accepts a delivery whose window has passed. Run twice, or too early, or after a dispute, it changes nothing. */
export async function acceptDelivery(
  { database, clock }: Services,
  { taskId }: JobPayload<"acceptDelivery">,
): Promise<void> {
  await database.transaction(async (tx) => {
    const task = await lockTask(tx, taskId);
    if (task.status !== "delivered" || !isPastAcceptance(task, clock.now())) return;
    // Late or not, the delivery counts as accepted at its deadline.
    await settleDelivery(tx, "release", task, new Date(task.acceptanceDeadlineAt ?? clock.now()));
  });
}

/** The tasks whose window has passed, whether or not a job for them is left, by deadline; those after `after` if it is given. */
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
