import { ApiError } from "../../errors.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";

const MAX_NEW_TASKS = 20;
const WINDOW_SECONDS = 60;

/**
 * Throws `spam_guard` for a buyer's 21st task within a minute, and for a task with the same title and description as
 * one of the buyer's open tasks. Source: docs/contract.md "Limits".
 */
export async function checkSpamGuard(
  tx: Transaction,
  buyerId: string,
  task: { title: string; description: string },
): Promise<void> {
  // A buyer's posts are checked one at a time: parallel ones would all see the same count.
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('spam guard ' || ${buyerId}, 0))`);
  const [recent] = await tx.query<{ waitSeconds: number }>(sql`
    SELECT ceil(extract(epoch FROM created_at + make_interval(secs => ${WINDOW_SECONDS}) - clock_timestamp()))::int AS "waitSeconds"
    FROM tasks WHERE buyer_id = ${buyerId}::uuid AND created_at > clock_timestamp() - make_interval(secs => ${WINDOW_SECONDS})
    ORDER BY created_at DESC OFFSET ${MAX_NEW_TASKS - 1} LIMIT 1`);
  if (recent) {
    throw new ApiError("spam_guard", {
      message: `You can post at most ${MAX_NEW_TASKS} tasks a minute. \`Retry-After\` says how many seconds to wait.`,
      retryAfterSeconds: Math.max(1, recent.waitSeconds),
    });
  }
  const [duplicate] = await tx.query<{ id: string }>(sql`
    SELECT id FROM tasks WHERE buyer_id = ${buyerId}::uuid AND status = 'open'
      AND title = ${task.title} AND description = ${task.description} LIMIT 1`);
  if (duplicate) {
    throw new ApiError("spam_guard", {
      message: "You already have an open task with this title and description.",
      retryAfterSeconds: WINDOW_SECONDS,
    });
  }
}
