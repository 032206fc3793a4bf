import type pg from "pg";
import type { TestPerson } from "../factories/people.ts";

const TASKS = 3_000;
const PEOPLE = 1_000;
const CROWD = 300;

interface Owners {
  buyer: TestPerson;
  bidder: TestPerson;
  crowdedTaskId: string;
  endpointId: string;
}

/**
 * Fills the tables with rows of other people, and with some hundred of the buyer's and the bidder's among them. Without
 * triggers, so only what a test reads is in order; the ledger's rows come from its own functions.
 */
export async function writeMuchOfEverything(pool: pg.Pool, owners: Owners): Promise<void> {
  const client = await pool.connect();
  try {
    await write(client, owners);
  } finally {
    client.release();
  }
}

async function write(client: pg.PoolClient, { buyer, bidder, crowdedTaskId, endpointId }: Owners): Promise<void> {
  const insert = (statement: string, ...values: unknown[]) => client.query(statement, values);
  await insert(`
    INSERT INTO users (email, password_hash, display_name)
    SELECT 'other' || n || '@example.com', '', 'Person' FROM generate_series(1, ${PEOPLE}) AS n`);
  await insert("SELECT ledger_exchange(id, 'topup', 1000, 'start ' || id) FROM users");
  await insert(
    "SELECT ledger_exchange($1::uuid, 'topup', 1000, 'buyer ' || n) FROM generate_series(1, 500) AS n",
    buyer.id,
  );
  await insert(
    "SELECT ledger_exchange($1::uuid, 'topup', 1000, 'bidder ' || n) FROM generate_series(1, 200) AS n",
    bidder.id,
  );
  await insert("SET session_replication_role = replica");
  await insert(`
    CREATE TEMPORARY TABLE people AS
      SELECT row_number() OVER (ORDER BY id) AS n, id FROM users WHERE email LIKE 'other%';
    CREATE UNIQUE INDEX ON people (n)`);
  await insert(`
    INSERT INTO api_keys (user_id, label, scopes, key_hash, last4, revoked_at)
    SELECT id, 'key', '{}', sha256((n || id::text)::bytea), 'AAAA', CASE WHEN n % 2 = 0 THEN now() END
    FROM people`);
  await insert("INSERT INTO sessions (user_id, expires_at) SELECT id, now() + n % 50 * interval '1 day' FROM people");
  await insert(`
    INSERT INTO account_tokens (id, user_id, purpose, token_hash, expires_at)
    SELECT gen_random_uuid(), id, 'verify_email', sha256(id::text::bytea), now() + interval '1 day' FROM people`);
  await insert(`
    INSERT INTO idempotency_keys (user_id, key, operation, input_hash, answer, expires_at)
    SELECT id, 'key ' || number, 'tasks.create', '', '{}', now() + interval '12 hours' + number * interval '30 minutes'
    FROM generate_series(1, 20) AS number, people`);
  await insert(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status, created_at, awarded_bidder_id, awarded_bid_id)
     SELECT CASE WHEN task % 10 = 0 THEN $1 ELSE p.id END, 'Page ' || task, 'To be translated.', 100 + task * 7919 % 9000,
            ARRAY['translation', 'topic' || task % 100], status, now() - task * interval '1 minute',
            CASE WHEN status = 'resolved' THEN CASE WHEN task % 15 = 1 THEN $2 ELSE q.id END END,
            CASE WHEN status = 'resolved' THEN gen_random_uuid() END
     FROM generate_series(1, ${TASKS}) AS task JOIN people p ON p.n = 1 + task % ${PEOPLE}
          JOIN people q ON q.n = 1 + (task + 1) % ${PEOPLE},
          LATERAL (SELECT CASE WHEN task % 5 = 1 THEN 'resolved' WHEN task % 4 = 0 THEN 'cancelled' ELSE 'open' END AS status) AS of`,
    buyer.id,
    bidder.id,
  );
  await insert(
    `INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, status, created_at)
     SELECT t.id, CASE number WHEN 1 THEN $1 ELSE p.id END, 100, 24, 'withdrawn', t.created_at + number * interval '1 second'
     FROM (SELECT id, created_at, row_number() OVER () AS n FROM tasks) AS t, generate_series(1, 2) AS number
     JOIN people p ON true WHERE p.n = 1 + (t.n * number) % ${PEOPLE}`,
    bidder.id,
  );
  await insert(`
    UPDATE tasks t SET awarded_bid_id = b.id FROM bids b WHERE b.task_id = t.id AND t.status = 'resolved'`);
  await insert(`
    INSERT INTO disputes (task_id, opened_by, reason, status, resolution, buyer_cents, bidder_cents, resolved_at, created_at)
    SELECT id, 'buyer', 'It is not done.', CASE WHEN old THEN 'resolved' ELSE 'open' END, CASE WHEN old THEN 'refund' END,
           CASE WHEN old THEN 100 END, CASE WHEN old THEN 0 END, CASE WHEN old THEN now() END, created_at
    FROM (SELECT id, created_at, row_number() OVER () % 10 > 0 AS old FROM tasks WHERE status = 'resolved') AS disputed`);
  await insert(`
    INSERT INTO ratings (task_id, rater_id, ratee_id, role, stars)
    SELECT id, buyer_id, awarded_bidder_id, 'bidder', 5 FROM tasks WHERE status = 'resolved'`);
  await insert(`
    INSERT INTO uploads (storage_key, bid_id, kind, mime_type, bytes, finished)
    SELECT 'samples/' || id, id, 'sample', 'text/plain', 1, row_number() OVER () % 3 > 0 FROM bids`);
  await insert(`
    INSERT INTO artifacts (upload_key, storage_key, bid_id, task_id, kind)
    SELECT storage_key, storage_key, bid_id, b.task_id, u.kind FROM uploads u JOIN bids b ON b.id = bid_id WHERE finished`);
  await insert(
    `INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, status, created_at)
     SELECT $1, id, 100, 24, 'active', now() - n * interval '10 minutes' + interval '0.5 s' FROM people WHERE n <= ${CROWD}`,
    crowdedTaskId,
  );
  await insert(
    `INSERT INTO questions (task_id, asker_id, text, created_at)
     SELECT $1, id, 'How many words?', now() - n * interval '1 minute' FROM people WHERE n <= ${CROWD}`,
    crowdedTaskId,
  );
  await insert(`
    INSERT INTO questions (task_id, asker_id, text, created_at)
    SELECT t.id, p.id, 'How many pages?', t.created_at
    FROM (SELECT id, created_at, row_number() OVER () AS n FROM tasks) AS t JOIN people p ON p.n = 1 + t.n % ${PEOPLE}`);
  // Every bid has a message, and the bidder's first one many.
  await insert(
    `INSERT INTO messages (bid_id, task_id, sender_id, role, text, file_count, to_buyer, to_bidder, created_at)
     SELECT b.id, task_id, bidder_id, 'bidder', 'Hello.', 0, number, 0, created_at + number * interval '1 millisecond'
     FROM bids b, generate_series(1, CASE WHEN b.id = (SELECT min(id::text)::uuid FROM bids WHERE bidder_id = $1)
                                          THEN ${CROWD} ELSE 1 END) AS number`,
    bidder.id,
  );
  await insert(`
    INSERT INTO conversations (bid_id, user_id, side, with_id, last_message_id, updated_at)
    SELECT m.bid_id, side.user_id, side.name, side.with_id, m.id, m.created_at
    FROM (SELECT DISTINCT ON (bid_id) * FROM messages ORDER BY bid_id, created_at DESC) AS m
         JOIN bids b ON b.id = m.bid_id JOIN tasks t ON t.id = m.task_id,
         LATERAL (VALUES ('buyer', t.buyer_id, b.bidder_id), ('bidder', b.bidder_id, t.buyer_id)) AS side (name, user_id, with_id)
    WHERE t.buyer_id <> b.bidder_id`);
  await insert(`
    INSERT INTO payouts (user_id, account_id, amount_cents, currency, ledger_entry_id, state, paid_at, created_at)
    SELECT user_id, 'acct', 1000, 'usd', id, 'paid', now(), created_at FROM ledger_entries WHERE user_id IS NOT NULL`);
  await insert(`
    INSERT INTO topups (user_id, amount_cents, currency, status, success_url, cancel_url)
    SELECT id, 500, 'usd', CASE WHEN n % 2 = 0 THEN 'paid' ELSE 'expired' END, '', '' FROM people`);
  await insert(`
    INSERT INTO processor_events (id, type, payload, processed_at)
    SELECT 'evt_' || n, 'payout.paid', '{}', now() - n * interval '1 hour' FROM generate_series(1, 2000) AS n`);
  await insert(`
    INSERT INTO moderation_actions (moderator_id, action, user_id, created_at)
    SELECT id, 'suspend_user', id, now() - n * interval '1 second' FROM people`);
  // With the body of a real event, of which there is one.
  await insert(`
    WITH written AS (
      INSERT INTO events (type, task_id, recipients, data, fanned_out_at)
      SELECT 'task.updated', id, ARRAY[buyer_id], (SELECT data FROM events WHERE type = 'task.created'), now() FROM tasks
      RETURNING id)
    INSERT INTO event_log_queue (event_id) SELECT id FROM written`);
  await insert("SELECT FROM advance_event_log(100000, true)");
  await insert("INSERT INTO webhook_hosts (host) SELECT 'host' || n || ':443' FROM people");
  await insert(`
    INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret, deleted_at)
    SELECT id, '', 'host' || n || ':443', '{task.disputed}', '', CASE WHEN n % 4 = 0 THEN now() END FROM people`);
  const deliveries = (endpoints: string, perEndpoint: number) => `
    INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, status, attempts_left, failed_at, due_at, created_at)
    SELECT e.id, (SELECT id FROM events LIMIT 1), 'task.disputed', status, 0, CASE status WHEN 'failed' THEN now() END, now(),
           now() + n * interval '1 millisecond'
    FROM webhook_endpoints e, generate_series(1, ${perEndpoint}) AS n,
         LATERAL (SELECT CASE n % 5 WHEN 0 THEN 'failed' ELSE 'succeeded' END AS status) AS of WHERE ${endpoints}`;
  await insert(deliveries("e.id <> $1", 5), endpointId);
  await insert(deliveries("e.id = $1", 300), endpointId);
  await insert(
    "SELECT graphile_worker.add_job('acceptDelivery', json_build_object('taskId', id), run_at => now() + interval '1 day') FROM tasks",
  );
  await insert("DROP TABLE people");
  await insert("SET session_replication_role = origin");
  await insert("VACUUM ANALYZE");
}
