import { ApiError } from "../../errors.ts";
import type { Task, TaskStatus } from "../../schemas/task.ts";
import { type Connection, empty, type QueryOptions, type Sql, sql } from "../../store/connection.ts";

/** A task's row: the public record, and the ids that the rules need. */
export interface TaskRecord extends Task {
  buyerId: string;
  awardedBidderId: string | null;
  /** Without those that a moderator has removed. */
  questionCount: number;
  /** Files of the brief. */
  fileCount: number;
  /** The API keys that report, by the names of their checks: for the buyer alone. */
  checkKeys: Record<string, string>;
}

const utc = (time: Sql) => sql`to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** JSON of the round of changes that `tasks t` is in. */
const changesOf = sql`CASE WHEN t.status = 'awarded' AND t.delivered_at IS NOT NULL THEN (
    SELECT json_build_object('reason', r.reason, 'requestedAt', ${utc(sql`r.created_at`)},
                             'dueAt', ${utc(sql`t.delivery_due_at`)}, 'round', r.round)
    FROM change_rounds r WHERE r.task_id = t.id AND r.round = t.revisions_used) END`;

/** Tasks that were accepted before it was recorded say it by the time. */
const acceptedBy = sql`coalesce(t.accepted_by, CASE WHEN t.accepted_at >= t.acceptance_deadline_at THEN 'clock'
    WHEN t.accepted_at IS NOT NULL THEN 'buyer' END)`;

/** Columns of `tasks t JOIN users buyer`. */
export const taskColumns = sql`
  t.id, t.title, t.max_budget_cents AS "maxBudgetCents", t.tags, t.status, t.created_at AS "createdAt",
  t.bid_count AS "bidCount", t.description, t.acceptance_criteria AS "acceptanceCriteria",
  json_build_object('id', buyer.id, 'displayName', buyer.display_name) AS buyer,
  t.awarded_bid_id AS "awardedBidId", t.awarded_at AS "awardedAt", t.delivery_due_at AS "deliveryDueAt",
  t.delivered_at AS "deliveredAt", t.acceptance_deadline_at AS "acceptanceDeadlineAt", t.accepted_at AS "acceptedAt",
  t.revisions, t.revisions_used AS "revisionsUsed", ${changesOf} AS changes,
  t.closed_at AS "closedAt", coalesce(t.closed_because, CASE t.status WHEN 'cancelled' THEN 'cancelled' END) AS "closedBecause",
  t.checks, CASE WHEN t.accept_after_minutes IS NOT NULL
    THEN json_build_object('afterMinutes', t.accept_after_minutes) END AS "acceptOnChecks",
  t.accepts_at AS "acceptsAt", ${acceptedBy} AS "acceptedBy", t.check_keys AS "checkKeys",
  t.updated_at AS "updatedAt",
  t.buyer_id AS "buyerId", t.awarded_bidder_id AS "awardedBidderId", t.question_count AS "questionCount",
  t.file_count AS "fileCount"`;

/** Columns of `tasks t` for the public feed. */
export const taskListColumns = sql`
  t.id, t.title, t.max_budget_cents AS "maxBudgetCents", t.tags, t.status, t.created_at AS "createdAt",
  t.bid_count AS "bidCount"`;

/**
 * The condition that `tasks t` has one of these statuses at this time, as `taskAt` has it. Where the time makes no difference, it
 * is one that the planner has statistics for.
 */
export function hasStatusAt(statuses: readonly TaskStatus[], now: Date): Sql {
  const isRoundOver = sql`(t.status = 'awarded' AND t.delivered_at IS NOT NULL AND t.delivery_due_at <= ${now.toISOString()}::timestamptz)`;
  const [awarded, delivered] = [statuses.includes("awarded"), statuses.includes("delivered")];
  const has = sql`t.status = ANY (${statuses}::text[])`;
  if (awarded === delivered) return has;
  return awarded ? sql`(${has} AND NOT ${isRoundOver})` : sql`(${has} OR ${isRoundOver})`;
}

async function selectTask(
  connection: Connection,
  { id, lock, ...options }: { id: Sql; lock: Sql } & QueryOptions,
): Promise<TaskRecord> {
  const [task] = await connection.query<TaskRecord>(
    sql`
    SELECT ${taskColumns} FROM tasks t JOIN users buyer ON buyer.id = t.buyer_id WHERE t.id = ${id} ${lock}`,
    { withBegin: true, ...options },
  );
  if (!task) throw new ApiError("not_found");
  return task;
}

const unlocked = { lock: empty, sharesConnection: true } as const;
const lock = sql`FOR NO KEY UPDATE OF t`;
const idOf = (taskId: string) => sql`${taskId}::uuid`;
const idOfQuestion = (questionId: string) => sql`(SELECT task_id FROM questions WHERE id = ${questionId}::uuid)`;
const idOfBid = (bidId: string) => sql`(SELECT task_id FROM bids WHERE id = ${bidId}::uuid)`;
const idOfAgreement = (agreementId: string) => sql`(SELECT task_id FROM agreements WHERE id = ${agreementId}::uuid)`;

/** Throws `not_found`. Takes no lock: the task can change before the caller acts on it. */
export const findTask = (connection: Connection, taskId: string): Promise<TaskRecord> =>
  selectTask(connection, { id: idOf(taskId), ...unlocked });

/** Like `findTask`, for the task of a bid. */
export const findTaskOfBid = (connection: Connection, bidId: string): Promise<TaskRecord> =>
  selectTask(connection, { id: idOfBid(bidId), ...unlocked });

/**
 * Locks the task's row until the transaction ends. Everything that changes a task, its bids or its money locks its
 * row first, so changes to one task happen one after another, and each sees the result of the one before. Throws
 * `not_found`.
 */
export const lockTask = (connection: Connection, taskId: string): Promise<TaskRecord> =>
  selectTask(connection, { id: idOf(taskId), lock });

/** Like `lockTask`, for the task of a bid. */
export const lockTaskOfBid = (connection: Connection, bidId: string): Promise<TaskRecord> =>
  selectTask(connection, { id: idOfBid(bidId), lock });

/** Like `lockTask`, for the task that a question is about. */
export const lockTaskOfQuestion = (connection: Connection, questionId: string): Promise<TaskRecord> =>
  selectTask(connection, { id: idOfQuestion(questionId), lock });

/** Like `lockTask`, for the task of an agreement. */
export const lockTaskOfAgreement = (connection: Connection, agreementId: string): Promise<TaskRecord> =>
  selectTask(connection, { id: idOfAgreement(agreementId), lock });

/** Writes `changes` (SQL assignments) to a task, which locks its row, and returns the new one. Throws `not_found`. */
export async function updateTask(connection: Connection, taskId: string, changes: Sql): Promise<TaskRecord> {
  const [task] = await connection.query<TaskRecord>(sql`
    UPDATE tasks t SET ${changes}, updated_at = service_now()
    FROM users buyer WHERE t.id = ${taskId}::uuid AND buyer.id = t.buyer_id RETURNING ${taskColumns}`);
  if (!task) throw new ApiError("not_found");
  return task;
}
