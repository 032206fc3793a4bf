import type { CreateTask } from "../../schemas/task.ts";
import type { Settings } from "../../services.ts";
import { inOrder, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { assertCallerActive } from "../../store/userLock.ts";
import { type TaskRecord, taskColumns } from "./records.ts";
import { checkSpamGuard, hashOfText } from "./spamGuard.ts";

/** The checks of a task, as its row has them. */
interface StoredChecks {
  checks: unknown;
  checkKeys: unknown;
}

/**
 * Judges a new task and inserts it: the one place that does, whoever posts it. The caller then holds the budget and records the event.
 * Throws `unauthenticated` for a buyer who is not active any more, and `spam_guard`.
 */
export async function insertTask(
  tx: Transaction,
  { userId, settings }: { userId: string; settings: Pick<Settings, "spamGuard"> },
  input: CreateTask,
  stored: StoredChecks,
): Promise<TaskRecord> {
  const textHash = hashOfText(input);
  // The guard's statements run before the task's, and so do not count it.
  const [, , task] = await inOrder(
    () => assertCallerActive(tx, userId),
    async () => settings.spamGuard && checkSpamGuard(tx, userId, textHash),
    () =>
      queryOne<TaskRecord>(
        tx,
        sql`
        WITH t AS (
          INSERT INTO tasks (buyer_id, title, description, acceptance_criteria, max_budget_cents, tags, revisions,
                             checks, check_keys, accept_after_minutes, posted_text_hash)
          VALUES (${userId}::uuid, ${input.title}, ${input.description}, ${input.acceptanceCriteria || null},
                  ${input.maxBudgetCents}, distinct_tags(${input.tags}::text[]), ${input.revisions ?? 0},
                  ${JSON.stringify(stored.checks)}::jsonb, ${JSON.stringify(stored.checkKeys)}::jsonb,
                  ${input.acceptOnChecks?.afterMinutes ?? null}::smallint, ${textHash}::bigint)
          RETURNING *)
        SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id`,
      ),
  );
  return task;
}
