import { taskColumns, taskListColumns } from "../../../server/market/tasks/records.ts";
import { sql } from "../../../server/store/connection.ts";
import { ledgerOver } from "../../../server/store/ledger.ts";

/**
 * The SQL that the service sends for `GET /tasks` and `POST /tasks`, which the bare server sends as well. A
 * change to a statement there must be made here, too.
 */
export const feedPage = sql`
  SELECT ${taskListColumns} FROM tasks t WHERE t.status = ${""} ORDER BY t.created_at DESC LIMIT ${0}`.text;

export const keyLookup = sql`
  SELECT k.id AS "keyId", k.user_id AS "userId", k.scopes,
         k.last_used_at IS NULL OR k.last_used_at < ${""}::timestamptz - ${""}::interval AS stale
  FROM api_keys k JOIN users u ON u.id = k.user_id
  WHERE k.key_hash = ${""} AND k.revoked_at IS NULL AND u.suspended_at IS NULL`.text;

export const insertTask = sql`
  WITH t AS (
    INSERT INTO tasks (buyer_id, title, description, acceptance_criteria, max_budget_cents, tags)
    VALUES (${""}::uuid, ${""}, ${""}, ${""},
            ${0}, ${""}::text[])
    RETURNING *)
  SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id`.text;

/** The ledger does not export its SQL, so this statement is captured from a call. */
export const hold = await new Promise<string>((resolve) => {
  ledgerOver({
    query: async ({ text }) => {
      resolve(text);
      return [];
    },
  }).hold("", 0, { taskId: "" });
});

export const recordEvent = sql`
  INSERT INTO events (type, task_id, recipients, data) VALUES (${""}, ${""}::uuid, ${""}::uuid[], ${""}::json)`.text;
