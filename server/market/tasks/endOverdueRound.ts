import type { Services } from "../../services.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { endRound } from "./moveTask.ts";
import { lockTask } from "./records.ts";
import { isRoundOver, momentOf } from "./rules.ts";

/**
 * Ends a round of changes to which the bidder did not react: the earlier delivery stands again, from the time at which the
 * changes were due. Does nothing when the state table refuses: the job came too early, ran before, or the bidder was faster.
 */
export async function endOverdueRound(services: Services, { taskId }: JobPayload<"endRound">): Promise<void> {
  await services.database.transaction(async (tx) => {
    const task = await lockTask(tx, taskId);
    const moment = momentOf(services);
    if (isRoundOver(task, moment)) await endRound(tx, task, moment);
  });
}
