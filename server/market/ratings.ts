import type { Rating } from "../schemas/rating.ts";
import { type Connection, queryOne, sql } from "../store/connection.ts";
import type { TaskRecord } from "./tasks/records.ts";

/** Columns of `ratings r`. */
export const ratingColumns = sql`
  r.id, r.task_id AS "taskId", r.rater_id AS "raterId", r.ratee_id AS "rateeId", r.role, r.stars, r.comment,
  r.created_at AS "createdAt"`;

/** Adds a party's rating of the other party. A second rating by the same party violates `ratings_once_key`. */
export function addRating(
  connection: Connection,
  task: TaskRecord,
  raterId: string,
  { stars, comment }: Pick<Rating, "stars" | "comment">,
): Promise<Rating> {
  const [rateeId, role] = raterId === task.buyerId ? [task.awardedBidderId, "bidder"] : [task.buyerId, "buyer"];
  return queryOne<Rating>(
    connection,
    sql`
    INSERT INTO ratings AS r (task_id, rater_id, ratee_id, role, stars, comment)
    VALUES (${task.id}::uuid, ${raterId}::uuid, ${rateeId}::uuid, ${role}, ${stars}, ${comment})
    RETURNING ${ratingColumns}`,
  );
}

/** Returns a task's ratings, oldest first: at most one by each party. */
export function readRatings(connection: Connection, taskId: string): Promise<Rating[]> {
  return connection.query<Rating>(sql`
    SELECT ${ratingColumns} FROM ratings r WHERE r.task_id = ${taskId}::uuid ORDER BY r.created_at`);
}
