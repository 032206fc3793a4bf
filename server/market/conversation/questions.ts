import { ApiError } from "../../errors.ts";
import type { Question } from "../../schemas/question.ts";
import { type Connection, isoTimestamp, queryOne, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";

/** Of one asker, on one task. Source: docs/contract.md "Questions". */
const MAX_UNANSWERED = 20;

/** A question's row. The times of its answer are as Postgres prints them in JSON. */
export type QuestionRow = Question & { asker: NonNullable<Question["asker"]> };

/** Columns of `questions q`, for `questionOf`. */
export const questionColumns = sql`
  q.id, q.task_id AS "taskId", q.text,
  (SELECT json_build_object('id', u.id, 'displayName', u.display_name) FROM users u WHERE u.id = q.asker_id) AS asker,
  q.created_at AS "createdAt", q.removed_at AS "removedAt",
  CASE WHEN q.answer IS NOT NULL THEN
    json_build_object('text', q.answer, 'createdAt', q.answered_at, 'editedAt', q.answer_edited_at) END AS answer`;

/** Returns the question in a row, with the times of its answer as the API prints them. */
export function questionOf({ answer, ...question }: QuestionRow): QuestionRow {
  if (answer === null) return { ...question, answer };
  const { createdAt, editedAt, ...rest } = answer;
  const times = { createdAt: isoTimestamp(createdAt), editedAt: editedAt && isoTimestamp(editedAt) };
  return { ...question, answer: { ...rest, ...times } };
}

/** Throws `not_found`. The question can change until its task is locked. */
export async function findQuestion(connection: Connection, questionId: string): Promise<QuestionRow> {
  const [row] = await connection.query<QuestionRow>(sql`
    SELECT ${questionColumns} FROM questions q WHERE q.id = ${questionId}::uuid`);
  if (row === undefined) throw new ApiError("not_found");
  return questionOf(row);
}

/** Adds a question to a locked task. Throws `limit_reached`. */
export async function addQuestion(
  tx: Transaction,
  taskId: string,
  askerId: string,
  text: string,
): Promise<QuestionRow> {
  const { count } = await queryOne<{ count: number }>(
    tx,
    sql`
    SELECT count(*)::int AS count FROM questions
    WHERE task_id = ${taskId}::uuid AND asker_id = ${askerId}::uuid AND answer IS NULL AND removed_at IS NULL`,
  );
  if (count >= MAX_UNANSWERED) {
    const message = `${MAX_UNANSWERED} of your questions about this task wait for an answer: ask again when one is answered.`;
    throw new ApiError("limit_reached", { limit: MAX_UNANSWERED, message });
  }
  const row = await queryOne<QuestionRow>(
    tx,
    sql`
    WITH q AS (
      INSERT INTO questions (task_id, asker_id, text) VALUES (${taskId}::uuid, ${askerId}::uuid, ${text}) RETURNING *)
    SELECT ${questionColumns} FROM q`,
  );
  return questionOf(row);
}

/** Writes `changes` (SQL assignments) to a question of a locked task, and returns the new row. */
export async function updateQuestion(tx: Transaction, questionId: string, changes: Sql): Promise<QuestionRow> {
  const row = await queryOne<QuestionRow>(
    tx,
    sql`
    UPDATE questions q SET ${changes} WHERE q.id = ${questionId}::uuid RETURNING ${questionColumns}`,
  );
  return questionOf(row);
}
