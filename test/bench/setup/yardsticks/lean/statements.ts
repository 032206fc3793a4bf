import { bidColumns, taskColumns } from "./columns.ts";

const pageColumns = `
  id, title, max_budget_cents AS "maxBudgetCents", tags, status, created_at AS "createdAt", bid_count AS "bidCount"`;
const entryColumns = `
  id, user_id AS "userId", kind, bucket, amount_cents AS "amountCents", task_id AS "taskId", bid_id AS "bidId",
  external_ref AS "externalRef", created_at AS "createdAt"`;

/**
 * One statement for each change: task or bid, money, entries, event and job commit together because they are one, and the
 * check of the wallet undoes all of it. The event's data are made in SQL, because the task is known only there.
 */
export const statements = {
  caller: `SELECT user_id AS "userId", scopes FROM api_keys WHERE key_hash = $1`,
  firstPage: `SELECT ${pageColumns} FROM tasks WHERE status = 'open' ORDER BY created_at DESC LIMIT 50`,
  page: `SELECT ${pageColumns} FROM tasks WHERE status = 'open' AND created_at < $1 ORDER BY created_at DESC LIMIT 50`,
  task: `SELECT t.buyer_id AS "buyerId", ${taskColumns} FROM tasks t JOIN users buyer ON buyer.id = t.buyer_id WHERE t.id = $1`,
  bidsOf: `
    SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id
    WHERE b.task_id = $1 AND b.bidder_id = $2 ORDER BY b.created_at DESC LIMIT 100`,
  entries: `
    SELECT ${entryColumns} FROM entries WHERE user_id = $1 AND created_at < $2 ORDER BY created_at DESC LIMIT 50`,
  createTask: `
    WITH t AS (
      INSERT INTO tasks (buyer_id, title, description, acceptance_criteria, max_budget_cents, tags)
      VALUES ($1, $2, $3, $4, $5, $6) RETURNING *),
    paid AS (
      UPDATE wallets SET available_cents = available_cents - $5, held_cents = held_cents + $5 WHERE user_id = $1),
    entered AS (
      INSERT INTO entries (user_id, kind, bucket, amount_cents, task_id)
      SELECT $1, 'hold', side.bucket, side.sign * $5::bigint, t.id
      FROM t, (VALUES ('available', -1), ('held', 1)) AS side (bucket, sign)),
    record AS (SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id),
    told AS (
      INSERT INTO events (type, task_id, data)
      SELECT 'task.created', id, json_build_object('task', to_json(record)) FROM record RETURNING id),
    queued AS (INSERT INTO jobs (name, payload) SELECT 'tell', json_build_object('event', id) FROM told)
    SELECT * FROM record`,
  placeBid: `
    WITH t AS (
      UPDATE tasks SET bid_count = bid_count + 1, updated_at = clock_timestamp()
      WHERE id = $1 AND status = 'open' AND buyer_id <> $2 AND max_budget_cents >= $3 RETURNING *),
    b AS (
      INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes) SELECT id, $2, $3, $4, $5 FROM t RETURNING *),
    task AS (SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id),
    bid AS (SELECT ${bidColumns} FROM b JOIN users bidder ON bidder.id = b.bidder_id),
    told AS (
      INSERT INTO events (type, task_id, recipients, data)
      SELECT 'bid.received', t.id, ARRAY[t.buyer_id], json_build_object('task', to_json(task), 'bid', to_json(bid))
      FROM t, task, bid RETURNING id),
    queued AS (INSERT INTO jobs (name, payload) SELECT 'tell', json_build_object('event', id) FROM told)
    SELECT * FROM bid`,
};
