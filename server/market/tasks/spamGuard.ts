import { createHash } from "node:crypto";
import { ApiError } from "../../errors.ts";
import { inOrder, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";

/** A buyer may post this many tasks a minute. Source: docs/contract.md "Limits". */
const MAX_NEW_TASKS = 300;
const NEW_TASKS_SECONDS = 60;
/** A buyer may post this many tasks with the same text within ten minutes. Source: docs/contract.md "Limits". */
const MAX_REPEATS = 50;
const REPEATS_SECONDS = 600;

/** A character that people do not see: zero-width characters, soft hyphens, variation selectors, control characters. */
const invisible = /[\p{Default_Ignorable_Code_Point}[\p{Cc}--\s]]/gv;
/**
 * Normalising takes time that is quadratic in the length of a run of combining marks: 0.3 s for 20,000. Runs are broken
 * up as in Unicode's Stream-Safe Text Format (UAX #15).
 */
const longRunOfMarks = /\p{M}{30}/gu;
/** What is normalised: all but two phrases in one character, which would become 18 and 8. No other becomes more than 6. */
const normalizable = /[^\ufdfa\ufdfb]+/gu;

/** Returns a form of the text that is equal for texts that look the same, apart from case and the amount of whitespace. */
export function asSeen(text: string): string {
  const normalized = text
    .replace(invisible, "")
    .replace(longRunOfMarks, "$&\u034f")
    .replace(normalizable, (part) => part.normalize("NFKC"));
  // Uppercasing after lowercasing unifies letters with several lowercase forms, and ß with ss.
  return normalized.toLowerCase().toUpperCase().replace(/\s+/g, " ").trim();
}

/**
 * Returns a hash of a task's text as people see it. 64 bits are enough, because it is only compared with those of the
 * same buyer.
 */
export function hashOfText({ title, description }: { title: string; description: string }): bigint {
  return createHash("sha256")
    .update(`${asSeen(title)}\n${asSeen(description)}`)
    .digest()
    .readBigInt64BE();
}

interface Verdict {
  /** Seconds until the same task would be accepted, rounded up; null if it is accepted now. */
  waitSeconds: number | null;
  /** With too many tasks of the same text: the newest of them. */
  taskId: string | null;
}

/**
 * The statement that judges a new task: when the oldest of the tasks that fill a window leaves it. The time is the
 * database's, as `created_at` is, and read once, so that the indexes can look for it.
 */
export function verdictStatement(buyerId: string, textHash: bigint): Sql {
  const now = sql`(SELECT now FROM clock)`;
  const ownTasks = (seconds: number) => sql`
    FROM tasks WHERE buyer_id = ${buyerId}::uuid AND created_at > ${now} - make_interval(secs => ${seconds})`;
  return sql`
    WITH clock AS MATERIALIZED (SELECT service_now() AS now)
    SELECT ceil(extract(epoch FROM greatest(recent.leaves_at, repeated.leaves_at) - ${now}))::int AS "waitSeconds",
           CASE WHEN repeated.leaves_at IS NOT NULL THEN (
             SELECT id ${ownTasks(REPEATS_SECONDS)} AND posted_text_hash = ${textHash}::bigint
             ORDER BY created_at DESC LIMIT 1) END AS "taskId"
    FROM (VALUES (0)) AS one
    LEFT JOIN (
      SELECT created_at + make_interval(secs => ${NEW_TASKS_SECONDS}) AS leaves_at ${ownTasks(NEW_TASKS_SECONDS)}
      ORDER BY created_at DESC OFFSET ${MAX_NEW_TASKS - 1} LIMIT 1) AS recent ON true
    LEFT JOIN (
      SELECT created_at + make_interval(secs => ${REPEATS_SECONDS}) AS leaves_at ${ownTasks(REPEATS_SECONDS)}
        AND posted_text_hash = ${textHash}::bigint
      ORDER BY created_at DESC OFFSET ${MAX_REPEATS - 1} LIMIT 1) AS repeated ON true`;
}

/**
 * Throws `spam_guard` for a buyer's 301st task within a minute, and for the 51st with the same text within ten minutes,
 * in which case `taskId` is the newest of those. Source: docs/contract.md "Limits".
 */
export async function checkSpamGuard(tx: Transaction, buyerId: string, textHash: bigint): Promise<void> {
  const options = { withBegin: true } as const;
  const [, [verdict]] = await inOrder(
    // A buyer's posts are checked one at a time: parallel ones would all see the same count.
    () => tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('spam guard ' || ${buyerId}, 0))`, options),
    () => tx.query<Verdict>(verdictStatement(buyerId, textHash), options),
  );
  if (verdict === undefined) throw new Error("the spam guard has no verdict");
  const { waitSeconds, taskId } = verdict;
  if (waitSeconds === null) return;
  const reason =
    taskId === null
      ? `You can post at most ${MAX_NEW_TASKS} tasks a minute.`
      : `You can post at most ${MAX_REPEATS} tasks with the same title and description within ${REPEATS_SECONDS / 60} minutes.`;
  throw new ApiError("spam_guard", {
    message: `${reason} \`Retry-After\` says how many seconds to wait.`,
    retryAfterSeconds: waitSeconds,
    ...(taskId !== null && { taskId }),
  });
}
