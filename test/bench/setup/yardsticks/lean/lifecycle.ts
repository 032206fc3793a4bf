import { bidColumns, taskColumns } from "./columns.ts";

/** The rest of a lifecycle, in one statement for each change, like `statements.ts`. */
export const lifecycle = {
  award: `
    WITH t AS (
      UPDATE tasks SET status = 'awarded', awarded_bid_id = $2, awarded_at = now(), updated_at = now(),
        delivery_due_at = now() + (SELECT eta_hours FROM bids WHERE id = $2) * interval '1 hour'
      WHERE id = $1 AND buyer_id = $3 AND status = 'open'
        AND EXISTS (SELECT FROM bids WHERE id = $2 AND task_id = $1 AND status = 'active') RETURNING *),
    b AS (UPDATE bids SET status = 'awarded', updated_at = now() FROM t WHERE bids.id = $2 RETURNING bids.*),
    lost AS (
      UPDATE bids SET status = 'rejected', updated_at = now() FROM t
      WHERE bids.task_id = t.id AND bids.status = 'active' AND bids.id <> $2 RETURNING bids.*),
    rest AS (SELECT t.id, t.buyer_id, b.id AS bid_id, t.max_budget_cents - b.price_cents AS cents FROM t, b),
    paid AS (
      UPDATE wallets SET available_cents = available_cents + rest.cents, held_cents = held_cents - rest.cents
      FROM rest WHERE user_id = rest.buyer_id),
    entered AS (
      INSERT INTO entries (user_id, kind, bucket, amount_cents, task_id, bid_id)
      SELECT rest.buyer_id, 'hold_release', side.bucket, side.sign * rest.cents, rest.id, rest.bid_id
      FROM rest, (VALUES ('available', 1), ('held', -1)) AS side (bucket, sign) WHERE rest.cents > 0),
    task AS (SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id),
    bid AS (SELECT ${bidColumns} FROM b JOIN users bidder ON bidder.id = b.bidder_id),
    loser AS (SELECT b.bidder_id, ${bidColumns} FROM lost b JOIN users bidder ON bidder.id = b.bidder_id),
    told AS (
      INSERT INTO events (type, task_id, recipients, data)
      SELECT 'task.awarded', t.id, ARRAY[t.buyer_id, b.bidder_id], json_build_object('task', to_json(task), 'bid', to_json(bid))
      FROM t, b, task, bid
      UNION ALL
      SELECT 'bid.rejected', t.id, ARRAY[loser.bidder_id], json_build_object('task', to_json(task), 'bid', to_json(loser))
      FROM t, task, loser RETURNING id),
    queued AS (
      INSERT INTO jobs (name, payload, run_at)
      SELECT 'tell', json_build_object('event', id), now() FROM told
      UNION ALL SELECT 'expireTask', json_build_object('taskId', id), delivery_due_at + interval '7 days' FROM t)
    SELECT to_json(task) AS task, to_json(bid) AS "awardedBid" FROM task, bid`,
  startUpload: `
    INSERT INTO uploads (storage_key, bid_id, mime_type, bytes, file_name)
    SELECT $3, b.id, $4, $5, $6 FROM bids b JOIN tasks t ON t.awarded_bid_id = b.id
    WHERE b.id = $1 AND b.bidder_id = $2 AND t.status = 'awarded' RETURNING storage_key`,
  findUpload: `
    SELECT u.mime_type AS "mimeType", u.bytes FROM uploads u JOIN bids b ON b.id = u.bid_id JOIN tasks t ON t.awarded_bid_id = b.id
    WHERE u.storage_key = $3 AND b.id = $1 AND b.bidder_id = $2 AND t.status = 'awarded'`,
  deliver: `
    WITH t AS (
      UPDATE tasks SET status = 'delivered', delivered_at = now(), acceptance_deadline_at = now() + interval '48 hours',
        updated_at = now()
      WHERE awarded_bid_id = $1 AND status = 'awarded' AND id = (SELECT task_id FROM bids WHERE id = $1 AND bidder_id = $2)
      RETURNING *),
    u AS (UPDATE uploads SET sealed_key = $4, finished_at = now() FROM t WHERE storage_key = $3 RETURNING uploads.*),
    task AS (SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id),
    bid AS (SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id WHERE b.id = $1),
    told AS (
      INSERT INTO events (type, task_id, recipients, data)
      SELECT 'delivery.posted', t.id, ARRAY[t.buyer_id, $2::uuid], json_build_object('task', to_json(task), 'bid', to_json(bid))
      FROM t, task, bid RETURNING id),
    queued AS (
      INSERT INTO jobs (name, payload, run_at)
      SELECT 'tell', json_build_object('event', id), now() FROM told
      UNION ALL SELECT 'acceptDelivery', json_build_object('taskId', id), acceptance_deadline_at FROM t)
    SELECT u.bid_id AS id, u.bid_id AS "bidId", t.id AS "taskId", u.mime_type AS "mimeType", u.bytes, u.file_name AS "fileName",
           u.finished_at AS "createdAt", t.acceptance_deadline_at AS "acceptanceDeadlineAt" FROM u, t`,
  accept: `
    WITH t AS (
      UPDATE tasks SET status = 'accepted', accepted_at = now(), closed_at = now(), updated_at = now()
      WHERE id = $1 AND buyer_id = $2 AND status = 'delivered' RETURNING *),
    b AS (SELECT bids.* FROM bids JOIN t ON t.awarded_bid_id = bids.id),
    side AS (
      SELECT t.buyer_id AS user_id, 'task_payment' AS kind, 'held' AS bucket, -b.price_cents AS cents, t.id, b.id AS bid_id FROM t, b
      UNION ALL SELECT b.bidder_id, 'task_earning', 'available', b.price_cents, t.id, b.id FROM t, b),
    paid AS (
      UPDATE wallets SET
        available_cents = available_cents + CASE bucket WHEN 'available' THEN cents ELSE 0 END,
        held_cents = held_cents + CASE bucket WHEN 'held' THEN cents ELSE 0 END
      FROM side WHERE wallets.user_id = side.user_id),
    entered AS (
      INSERT INTO entries (user_id, kind, bucket, amount_cents, task_id, bid_id)
      SELECT user_id, kind, bucket, cents, id, bid_id FROM side),
    task AS (SELECT ${taskColumns} FROM t JOIN users buyer ON buyer.id = t.buyer_id),
    bid AS (SELECT ${bidColumns} FROM b JOIN users bidder ON bidder.id = b.bidder_id),
    told AS (
      INSERT INTO events (type, task_id, recipients, data)
      SELECT 'task.accepted', t.id, ARRAY[t.buyer_id, b.bidder_id], json_build_object('task', to_json(task), 'bid', to_json(bid))
      FROM t, b, task, bid RETURNING id),
    queued AS (INSERT INTO jobs (name, payload) SELECT 'tell', json_build_object('event', id) FROM told)
    SELECT * FROM task`,
};
