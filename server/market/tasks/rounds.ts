import type { ChangeRound } from "../../schemas/round.ts";
import type { Services } from "../../services.ts";
import { type Connection, empty, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { TaskRecord } from "./records.ts";

/** Why a round of changes ends without another delivery: the bidder says so, or does nothing. */
export type Refusal = { by: "bidder"; reason: string } | { by: "clock"; reason: null };

/** Records the round that the buyer of a locked task asks for now; the task counts it itself. */
export async function recordRound(
  tx: Transaction,
  task: TaskRecord,
  { reason, requestedAt, dueAt }: { reason: string; requestedAt: Date; dueAt: Date },
): Promise<void> {
  await tx.query(sql`
    INSERT INTO change_rounds (task_id, round, reason, created_at, due_at)
    VALUES (${task.id}::uuid, ${task.revisionsUsed + 1}, ${reason}, ${requestedAt.toISOString()}::timestamptz,
            ${dueAt.toISOString()}::timestamptz)`);
}

/** Records that the round that a locked task is in ends at another time than before. */
export async function moveEndOfRound(tx: Transaction, task: TaskRecord, dueAt: string): Promise<void> {
  await tx.query(sql`
    UPDATE change_rounds SET due_at = ${dueAt}::timestamptz
    WHERE task_id = ${task.id}::uuid AND round = ${task.revisionsUsed}`);
}

/** Records the end of the round that a locked task is in. */
export async function recordEndOfRound(
  tx: Transaction,
  task: TaskRecord,
  endedAt: Date,
  refusal?: Refusal,
): Promise<void> {
  await tx.query(sql`
    UPDATE change_rounds SET ended_at = ${endedAt.toISOString()}::timestamptz, declined_by = ${refusal?.by ?? null},
           declined_reason = ${refusal?.reason ?? null}
    WHERE task_id = ${task.id}::uuid AND round = ${task.revisionsUsed}`);
}

/** Columns of `change_rounds r`. */
export const roundColumns = sql`
  r.round, r.reason, r.created_at AS "requestedAt", r.due_at AS "dueAt", r.declined_by AS "declinedBy",
  r.declined_reason AS "declinedReason", r.ended_at AS "endedAt"`;

/** Returns the rounds of changes of a task, oldest first. */
export function readRounds(connection: Connection, taskId: string): Promise<ChangeRound[]> {
  return connection.query<ChangeRound>(sql`
    SELECT ${roundColumns} FROM change_rounds r WHERE r.task_id = ${taskId}::uuid ORDER BY r.round`);
}

/** Returns tasks whose round of changes is over and not ended, in order of its due time, starting after `after`. */
export function findOverdueRounds(
  { database, clock }: Services,
  limit: number,
  after: { taskId: string } | null,
): Promise<{ taskId: string }[]> {
  return database.query<{ taskId: string }>(sql`
    SELECT id AS "taskId" FROM tasks
    WHERE status = 'awarded' AND delivered_at IS NOT NULL AND delivery_due_at <= ${clock.now().toISOString()}::timestamptz
      ${after === null ? empty : sql`AND (delivery_due_at, id) > (SELECT delivery_due_at, id FROM tasks WHERE id = ${after.taskId}::uuid)`}
    ORDER BY delivery_due_at, id LIMIT ${limit}`);
}
