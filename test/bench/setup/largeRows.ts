import type pg from "pg";

/** Four bytes in UTF-8, two code units in JavaScript, one character. */
const CHARACTER = "💸";

interface People {
  buyerId: string;
  bidderId: string;
}

/**
 * Writes what two people could leave behind in months, at the limits of every field: tasks, bids, disputes with files,
 * movements of money, keys, webhooks and their deliveries. Returns the records that are costly to read.
 */
export async function writeLargeRows(pool: pg.Pool, { buyerId, bidderId }: People) {
  const one = async (text: string, values: unknown[]) => {
    const { rows } = await pool.query<{ id: string }>(text, values);
    const [first] = rows;
    if (first === undefined) throw new Error("a statement returned no row");
    return first.id;
  };
  const insertTasks = (lastCharacter: string, count: number) =>
    one(
      `INSERT INTO tasks (buyer_id, title, description, acceptance_criteria, max_budget_cents, tags, created_at)
       SELECT $1, repeat($2, 119) || $3, repeat($2, 20000), repeat($2, 10000), 100000,
              (SELECT array_agg(repeat($2, 38) || t) FROM generate_series(10, 29) AS t),
              clock_timestamp() - n * interval '1 minute' - interval '1 second' * ascii($3)
       FROM generate_series(1, $4::int) AS n RETURNING id`,
      [buyerId, CHARACTER, lastCharacter, count],
    );
  const taskId = await insertTasks("O", 150);
  await insertTasks("D", 120);
  // Withdrawn and placed again, hundreds of times.
  const bidId = await one(
    `INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes, status, created_at)
     SELECT $1, $2, 1000, 24, repeat($3, 5000), CASE WHEN n = 1 THEN 'active' ELSE 'withdrawn' END,
            clock_timestamp() - n * interval '1 second'
     FROM generate_series(1, 400) AS n RETURNING id`,
    [taskId, bidderId, CHARACTER],
  );
  await pool.query(
    `WITH bid AS (
       INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes, status, created_at)
       SELECT id, $1, 1000, 24, repeat($2, 5000), 'awarded', created_at - interval '1 second'
       FROM tasks WHERE title LIKE '%' || $2 || 'D' RETURNING id, task_id
     )
     UPDATE tasks SET status = 'disputed', awarded_bid_id = bid.id, awarded_bidder_id = $1, awarded_at = now(), delivery_due_at = now(),
            delivered_at = now(), acceptance_deadline_at = now()
     FROM bid WHERE tasks.id = bid.task_id`,
    [bidderId, CHARACTER],
  );
  await pool.query(
    `WITH uploaded AS (
       INSERT INTO uploads (storage_key, bid_id, kind, mime_type, bytes)
       SELECT CASE n WHEN 1 THEN 'deliveries/' ELSE 'samples/' END || b.id || '/' || n, b.id,
              CASE n WHEN 1 THEN 'delivery' ELSE 'sample' END, 'text/plain', 100
       FROM bids b CROSS JOIN generate_series(1, 11) AS n
       WHERE b.status = 'awarded' AND b.bidder_id = $1 AND b.notes LIKE $2 || '%'
       RETURNING storage_key, bid_id, kind
     )
     INSERT INTO artifacts (upload_key, storage_key, bid_id, task_id, kind)
     SELECT u.storage_key, u.storage_key || '.sealed', u.bid_id, b.task_id, u.kind
     FROM uploaded u JOIN bids b ON b.id = u.bid_id`,
    [bidderId, CHARACTER],
  );
  const disputeId = await one(
    `INSERT INTO disputes (task_id, opened_by, reason)
     SELECT t.id, 'buyer', repeat($1, 2000) FROM tasks t
     WHERE t.status = 'disputed' AND NOT EXISTS (SELECT 1 FROM disputes d WHERE d.task_id = t.id) RETURNING id`,
    [CHARACTER],
  );
  await pool.query(`SELECT ledger_exchange($1, 'topup', 1000, 'large rows ' || n) FROM generate_series(1, 300) AS n`, [
    buyerId,
  ]);
  await pool.query(
    `INSERT INTO api_keys (user_id, label, scopes, key_hash, last4)
     SELECT $1, repeat($2, 80), '{task:write,bid:write}', sha256(('key ' || n)::bytea), 'AAAA'
     FROM generate_series(1, 490) AS n`,
    [buyerId, CHARACTER],
  );
  const webhookId = await one(
    `INSERT INTO webhook_endpoints (user_id, url, events, signing_secret)
     SELECT $1, 'https://93.184.216.34/' || repeat('x', 2000), '{task.created}', 'whsec_' || n
     FROM generate_series(1, 15) AS n RETURNING id`,
    [buyerId],
  );
  await pool.query(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, status, attempts_left, attempts, due_at, failed_at, created_at)
     SELECT $1, e.id, 'task.created', 'failed', 0, a.attempts, now(), now(), now() - n * interval '1 second'
     FROM generate_series(1, 300) AS n, (SELECT id FROM events LIMIT 1) AS e,
          (SELECT jsonb_agg(jsonb_build_object('attemptedAt', '2026-11-20T12:00:00.000000Z', 'statusCode', null,
                  'durationMs', 10000, 'error', 'no complete response within 10 seconds')) AS attempts
           FROM generate_series(1, 100)) AS a`,
    [webhookId],
  );
  await pool.query("VACUUM ANALYZE");
  return { taskId, bidId, disputeId, webhookId };
}
