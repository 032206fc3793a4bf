import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { applyMigrations } from "../../prisma/migrate.ts";
import { openCursors } from "../../server/events/cursor.ts";
import { readLog } from "../../server/events/log.ts";
import { searchTasks } from "../../server/market/search/search.ts";
import { connectionOver, sql } from "../../server/store/connection.ts";

const released = "20261121200700_jobs";

/** An empty database. */
async function emptyDatabase(): Promise<string> {
  const url = inject("postgresUrl");
  const name = `upgrade_${crypto.randomUUID().slice(0, 8)}`;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => {
    // Not by force: a pool says that it has ended before its last session has, and this waits for that.
    await admin.query(`DROP DATABASE ${name}`);
    await admin.end();
  });
  return url.replace(/\/rebid$/, `/${name}`);
}

/** The migrations up to and including this one, in a directory of their own. */
async function migrationsUntil(last: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rebid-migrations-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const name of await readdir("prisma/migrations")) {
    if (name <= last) await cp(join("prisma/migrations", name), join(directory, name), { recursive: true });
  }
  return directory;
}

test("a database of the first release is upgraded with its rows: tags are still found, hours and durations are kept", async () => {
  const url = await emptyDatabase();
  await applyMigrations(url, { directory: await migrationsUntil(released) });
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  await pool.query(`
    WITH buyer AS (INSERT INTO users (email, password_hash, display_name) VALUES ('a@example.com', '', 'Ada') RETURNING id),
    task AS (INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags)
             SELECT id, 'An old task', '-', 100, ARRAY['typescript', 'ääni', 'σίσυφος'] FROM buyer RETURNING id, buyer_id),
    more AS (INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at)
             SELECT id, 'Another', '-', 100, '{common}', '2020-01-01'::timestamptz + n * interval '1 second'
             FROM buyer, generate_series(1, 400) n),
    bid AS (INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours) SELECT id, buyer_id, 5, 8760 FROM task RETURNING id)
    INSERT INTO uploads (storage_key, bid_id, kind, mime_type, bytes, duration_sec)
    SELECT 'k', id, 'sample', 'audio/ogg', 1, 7 FROM bid`);
  await pool.query(`
    WITH done AS (INSERT INTO uploads (storage_key, bid_id, kind, mime_type, bytes)
                  SELECT 'done', id, 'sample', 'text/plain', 1 FROM bids RETURNING storage_key, bid_id)
    INSERT INTO artifacts (upload_key, storage_key, bid_id, task_id, kind)
    SELECT done.storage_key, 'sealed', bid_id, task_id, 'sample' FROM done JOIN bids ON bids.id = bid_id`);

  await pool.query(`
    INSERT INTO api_keys (user_id, label, scopes, key_hash, last4) SELECT id, 'old', '{}', '\\x00', '0000' FROM users`);

  expect((await applyMigrations(url)).length).toBeGreaterThanOrEqual(3);
  const connection = connectionOver(pool);
  const keys = await connection.query(
    sql`SELECT expires_at > '9999-01-01' AS lasts, spend_limit_cents AS "limit", spent_cents AS spent FROM api_keys`,
  );
  expect(keys).toEqual([{ lasts: true, limit: null, spent: "0" }]);
  for (const tag of ["typescript", "TypeScript", "ÄÄNI", "ΣΊΣΥΦΟΣ"]) {
    const found = await searchTasks(connection, { statuses: ["open"], tag, limit: 10 });
    expect(found.map(({ title, tags }) => ({ title, tags }))).toEqual([
      { title: "An old task", tags: ["typescript", "ääni", "σίσυφος"] },
    ]);
  }
  expect(await searchTasks(connection, { statuses: ["open"], tag: "Common", limit: 100 })).toHaveLength(100);
  const finished = await pool.query(`SELECT storage_key FROM uploads WHERE finished`);
  expect(finished.rows).toEqual([{ storage_key: "done" }]); // so that its copy is never swept
  const { rows } = await pool.query(
    "SELECT eta_hours::float8 AS hours, duration_sec AS seconds FROM bids JOIN uploads ON bid_id = bids.id WHERE storage_key = 'k'",
  );
  expect(rows).toEqual([{ hours: 8760, seconds: 7 }]);
});

test("users that share their creation time are told apart, suspended ones lose their sessions, and old decisions are recorded", async () => {
  const url = await emptyDatabase();
  await applyMigrations(url, { directory: await migrationsUntil(released) });
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  await pool.query(`
    INSERT INTO users (email, password_hash, display_name, created_at, suspended_at)
    SELECT n || '@example.com', '', 'Twin', '2026-01-01', CASE WHEN n = 1 THEN now() END FROM generate_series(1, 5) n;
    INSERT INTO users (email, password_hash, display_name, created_at)
    VALUES ('next@example.com', '', 'Next', '2026-01-01 00:00:00.000001');
    INSERT INTO sessions (user_id, expires_at) SELECT id, now() FROM users;
    WITH twin AS (SELECT id FROM users WHERE email = '2@example.com'),
    task AS (INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags)
             SELECT id, 'Disputed', '-', 100, '{}' FROM twin RETURNING id)
    INSERT INTO disputes (task_id, opened_by, reason, status, resolution, buyer_cents, bidder_cents, note, resolved_at)
    SELECT id, 'buyer', 'It is late.', 'resolved', 'refund', 100, 0, 'Too late.', now() FROM task`);
  await applyMigrations(url);
  const { rows } = await pool.query(`
    SELECT (SELECT count(DISTINCT created_at)::int FROM users) AS times,
           (SELECT count(*)::int FROM sessions) AS sessions,
           (SELECT array_agg(email) FROM users WHERE winding_down) AS "windingDown",
           (SELECT array_agg(action || ': ' || reason) FROM moderation_actions) AS actions`);
  expect(rows).toEqual([
    { times: 6, sessions: 5, windingDown: ["1@example.com"], actions: ["resolve_dispute: Too late."] },
  ]);
});

test("what was kept of passwords and codes is deleted, and other kept answers stay", async () => {
  const url = await emptyDatabase();
  await applyMigrations(url, { directory: await migrationsUntil("20261123120000_event_log_reads") });
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  await pool.query(`
    WITH owner AS (INSERT INTO users (email, password_hash, display_name) VALUES ('a@example.com', '', 'Ada') RETURNING id)
    INSERT INTO idempotency_keys (user_id, key, operation, input_hash, answer)
    SELECT id, operation, operation, '\\x00', '{}' FROM owner,
           unnest(ARRAY['auth.startTotp', 'auth.confirmTotp', 'auth.removeTotp', 'tasks.create']) AS operation`);
  await applyMigrations(url);
  expect((await pool.query("SELECT operation FROM idempotency_keys")).rows).toEqual([{ operation: "tasks.create" }]);
});

test("a log from before cursors had seals goes on from its cursors, also while the code from before that still runs", async () => {
  const url = await emptyDatabase();
  await applyMigrations(url, { directory: await migrationsUntil("20261123120000_event_log_reads") });
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  const record = () =>
    pool.query(`
      WITH recorded AS (INSERT INTO events (type, recipients, data, fanned_out_at) VALUES ('task.updated', NULL, '{}', now()) RETURNING id)
      INSERT INTO event_log_queue (event_id) SELECT id FROM recorded`);
  // The statement of the release before.
  const advance = async () => {
    const { rows } = await pool.query<{ epoch: string; position: string; eventId: string }>(
      `SELECT epoch, last_position AS position, last_event_id AS "eventId" FROM advance_event_log(1000, true)`,
    );
    return rows[0];
  };
  await record();
  const old = await advance();
  await applyMigrations(url);
  await record();
  expect(await advance()).toMatchObject({ epoch: old?.epoch, position: "2" });
  const bytes = Buffer.from(`${old?.epoch}${"0".repeat(15)}1${old?.eventId}`.replaceAll("-", ""), "hex");
  const after = openCursors(["a secret"]).decrypt(bytes.toString("base64url"));
  const page = await readLog(
    connectionOver(pool),
    { userId: crypto.randomUUID(), keyId: null, types: null },
    { after, limit: 10 },
  );
  expect(page.events).toHaveLength(1);
});
