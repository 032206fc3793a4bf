import { bidColumns, shownColumns, taskColumns } from "./columns.ts";

const pageColumns = `
  id, title, max_budget_cents AS "maxBudgetCents", tags, status, created_at AS "createdAt", bid_count AS "bidCount"`;
const entryColumns = `
  id, user_id AS "userId", kind, bucket, amount_cents AS "amountCents", task_id AS "taskId", bid_id AS "bidId",
  external_ref AS "externalRef", created_at AS "createdAt", (SELECT title FROM tasks WHERE id = task_id) AS "taskTitle",
  topup_id AS "topupId", payout_id AS "payoutId", has_receipt AS "hasReceipt"`;

/** The task or the bids that a statement changes, as the service shows them. */
const changedTask = (change: string) =>
  `WITH t AS (${change} RETURNING *) SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id`;
const changedBids = (change: string) =>
  `WITH b AS (${change} RETURNING *) SELECT ${bidColumns} FROM b JOIN users bidder ON bidder.id = b.bidder_id`;

/** One statement for each thing that a request reads or changes. */
export const statements = {
  caller: `SELECT user_id AS "userId", scopes FROM api_keys WHERE key_hash = $1`,
  firstPage: `SELECT ${pageColumns} FROM tasks WHERE status = 'open' ORDER BY created_at DESC LIMIT 50`,
  page: `SELECT ${pageColumns} FROM tasks WHERE status = 'open' AND created_at < $1 ORDER BY created_at DESC LIMIT 50`,
  task: `
    SELECT t.buyer_id AS "buyerId", t.file_count AS "fileCount", t.question_count AS "questionCount", ${shownColumns}
    FROM tasks t JOIN users buyer ON buyer.id = t.buyer_id WHERE t.id = $1`,
  filesOf: `
    SELECT storage_key AS id, file_name AS "fileName", mime_type AS "mimeType", bytes FROM uploads
    WHERE task_id = $1 AND finished_at IS NOT NULL`,
  bid: `SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id WHERE b.id = $1`,
  bidsOf: `
    SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id
    WHERE b.task_id = $1 AND b.bidder_id = $2 ORDER BY b.created_at DESC LIMIT 100`,
  entries: `
    SELECT ${entryColumns} FROM entries WHERE user_id = $1 AND created_at < $2 ORDER BY created_at DESC LIMIT 50`,

  // From one bucket to another, of one user or two: wallets and entries. The check of the wallet refuses what it does not have.
  move: `
    WITH side (user_id, kind, bucket, cents) AS (
      VALUES ($1::uuid, $2, $3, -$7::bigint), ($4::uuid, $5, $6, $7::bigint)),
    change AS (
      SELECT user_id, coalesce(sum(cents) FILTER (WHERE bucket = 'available'), 0) AS available,
             coalesce(sum(cents) FILTER (WHERE bucket = 'held'), 0) AS held
      FROM side GROUP BY user_id ORDER BY user_id),
    paid AS (
      UPDATE wallets SET available_cents = available_cents + available, held_cents = held_cents + held
      FROM change WHERE wallets.user_id = change.user_id)
    INSERT INTO entries (user_id, kind, bucket, amount_cents, task_id, bid_id)
    SELECT user_id, kind, bucket, cents, $8, $9 FROM side`,
  // The event and the job that sends it.
  tell: `
    WITH told AS (INSERT INTO events (type, task_id, recipients, data) VALUES ($1, $2, $3, $4) RETURNING id)
    INSERT INTO jobs (name, payload) SELECT 'tell', json_build_object('event', id) FROM told`,
  queue: "INSERT INTO jobs (name, payload, run_at) VALUES ($1, $2, $3)",

  createTask: changedTask(`
    INSERT INTO tasks (buyer_id, title, description, acceptance_criteria, max_budget_cents, tags)
    VALUES ($1, $2, $3, $4, $5, $6)`),
  countBid: changedTask(`
    UPDATE tasks SET bid_count = bid_count + 1, updated_at = clock_timestamp()
    WHERE id = $1 AND status = 'open' AND buyer_id <> $2 AND max_budget_cents >= $3`),
  placeBid: changedBids(`
    INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes) VALUES ($1, $2, $3, $4, $5)`),

  awardTask: changedTask(`
    UPDATE tasks SET status = 'awarded', awarded_bid_id = $2, awarded_at = now(), updated_at = now(),
      delivery_due_at = now() + (SELECT eta_hours FROM bids WHERE id = $2) * interval '1 hour'
    WHERE id = $1 AND buyer_id = $3 AND status = 'open'`),
  awardBid: changedBids(`
    UPDATE bids SET status = 'awarded', updated_at = now() WHERE id = $1 AND task_id = $2 AND status = 'active'`),
  rejectOthers: changedBids(`
    UPDATE bids SET status = 'rejected', updated_at = now() WHERE task_id = $1 AND status = 'active'`),

  startUpload: `
    INSERT INTO uploads (storage_key, bid_id, mime_type, bytes, file_name)
    SELECT $3, b.id, $4, $5, $6 FROM bids b JOIN tasks t ON t.awarded_bid_id = b.id
    WHERE b.id = $1 AND b.bidder_id = $2 AND t.status = 'awarded' RETURNING storage_key`,
  findUpload: `
    SELECT u.bytes FROM uploads u JOIN bids b ON b.id = u.bid_id JOIN tasks t ON t.awarded_bid_id = b.id
    WHERE u.storage_key = $3 AND b.id = $1 AND b.bidder_id = $2 AND t.status = 'awarded'`,
  finishUpload: `
    UPDATE uploads SET sealed_key = $2, finished_at = now() WHERE storage_key = $1
    RETURNING mime_type AS "mimeType", bytes, file_name AS "fileName", finished_at AS "createdAt"`,
  deliverTask: changedTask(`
    UPDATE tasks SET status = 'delivered', delivered_at = now(), acceptance_deadline_at = now() + interval '48 hours',
      updated_at = now()
    WHERE awarded_bid_id = $1 AND status = 'awarded' AND id = (SELECT task_id FROM bids WHERE id = $1 AND bidder_id = $2)`),

  acceptTask: changedTask(`
    UPDATE tasks SET status = 'accepted', accepted_by = 'buyer', accepted_at = now(), closed_at = now(), updated_at = now()
    WHERE id = $1 AND buyer_id = $2 AND status = 'delivered'`),
};
