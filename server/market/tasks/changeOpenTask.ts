import { type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { findActiveBidders } from "../bids/records.ts";
import { type TaskRecord, updateTask } from "./records.ts";

/** The assignment for a change after which an earlier bid would be for something else. */
export const contentEdited: Sql = sql`content_edited_at = service_now()`;

/** Writes `changes` (SQL assignments) to a locked task that is open, and tells the buyer and the active bidders. */
export async function changeOpenTask(tx: Transaction, task: TaskRecord, changes: Sql): Promise<TaskRecord> {
  const updated = await updateTask(tx, task.id, changes);
  tx.events.record("task.updated", { task: updated }, [task.buyerId, ...(await findActiveBidders(tx, task.id))]);
  return updated;
}
