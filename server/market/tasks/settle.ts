import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { TaskRecord } from "./records.ts";
import { findAwardedBid, moveTask } from "./transition.ts";

/**
 * Pays the awarded bid's price from the buyer's hold and closes the task: what accepting does, by the buyer or by the
 * deadline. The task is locked and `delivered`.
 */
export async function settleDelivery(
  tx: Transaction,
  action: "accept" | "release",
  task: TaskRecord,
  acceptedAt: Date,
): Promise<TaskRecord> {
  const at = acceptedAt.toISOString();
  return moveTask(tx, action, task, {
    bid: await findAwardedBid(tx, task),
    changes: sql`accepted_at = ${at}::timestamptz, closed_at = ${at}::timestamptz`,
  });
}
