import pg from "pg";
import { hashSecret } from "../../../../../server/auth/secretHash.ts";
import { sqlIdOf, sqlTimeOf, userIdOf } from "../../seed/identities.ts";
import { callerNumber, DESCRIPTION, FUNDS_CENTS, type MarketSize, saverNumber } from "../../seed/market.ts";

/**
 * The leanest tables that can answer the same requests: an index for each list and each lookup, none for a search; money in one
 * row a user, which a check keeps from being overdrawn; one entry a side of each movement, without transfers, versions or
 * balances after it. No foreign keys, no triggers, no reputation, no log of events by recipient.
 */
const tables = `
  CREATE TABLE users (id uuid PRIMARY KEY, display_name text NOT NULL);
  CREATE TABLE api_keys (key_hash bytea PRIMARY KEY, user_id uuid NOT NULL, scopes text[] NOT NULL);
  CREATE TABLE tasks (
    id uuid PRIMARY KEY DEFAULT uuidv7(), buyer_id uuid NOT NULL, title text NOT NULL, description text NOT NULL,
    acceptance_criteria text, max_budget_cents integer NOT NULL, tags text[] NOT NULL, status text NOT NULL DEFAULT 'open',
    bid_count integer NOT NULL DEFAULT 0, awarded_bid_id uuid, awarded_at timestamptz, delivery_due_at timestamptz,
    delivered_at timestamptz, acceptance_deadline_at timestamptz, accepted_at timestamptz, closed_at timestamptz,
    revisions smallint NOT NULL DEFAULT 0, revisions_used smallint NOT NULL DEFAULT 0, changes json,
    checks json NOT NULL DEFAULT '[]', accept_on_checks json, accepts_at timestamptz, accepted_by text, closed_because text,
    file_count integer NOT NULL DEFAULT 0, question_count integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(), updated_at timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE TABLE bids (
    id uuid PRIMARY KEY DEFAULT uuidv7(), task_id uuid NOT NULL, bidder_id uuid NOT NULL, price_cents integer NOT NULL,
    eta_hours numeric(6, 2) NOT NULL, notes text, status text NOT NULL DEFAULT 'active',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(), updated_at timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE UNIQUE INDEX bids_one_active_key ON bids (task_id, bidder_id) WHERE status IN ('active', 'awarded');
  CREATE TABLE wallets (
    user_id uuid PRIMARY KEY, available_cents bigint NOT NULL CHECK (available_cents >= 0),
    held_cents bigint NOT NULL DEFAULT 0 CHECK (held_cents >= 0));
  CREATE TABLE entries (
    id uuid PRIMARY KEY DEFAULT uuidv7(), user_id uuid NOT NULL, kind text NOT NULL, bucket text NOT NULL,
    amount_cents bigint NOT NULL, task_id uuid, bid_id uuid, external_ref text,
    topup_id uuid, payout_id uuid, has_receipt boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE TABLE events (
    id uuid PRIMARY KEY DEFAULT uuidv7(), type text NOT NULL, task_id uuid, recipients uuid[], data json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, payload json NOT NULL,
    run_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE uploads (
    storage_key text PRIMARY KEY, bid_id uuid, task_id uuid, mime_type text NOT NULL, bytes integer NOT NULL, file_name text,
    sealed_key text, finished_at timestamptz)`;

const indexes = `
  CREATE INDEX ON tasks (status, created_at DESC);
  CREATE INDEX ON entries (user_id, created_at DESC);
  CREATE INDEX ON uploads (task_id) WHERE task_id IS NOT NULL`;

/** Creates the tables in an empty database and fills them with the same rows as `seedMarket`. */
export async function seedLean(databaseUrl: string, size: MarketSize): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, options: "-c TimeZone=UTC" });
  await client.connect();
  await client.query(tables);
  await client.query(
    `INSERT INTO users SELECT ${sqlIdOf("user", "n")}, 'Person ' || n FROM generate_series(1, ${saverNumber(size)}) AS n`,
  );
  const keys = [
    ...size.callers.map((key, index) => ({ key, user: callerNumber(size, index) })),
    ...size.savers.map((key) => ({ key, user: saverNumber(size) })),
  ];
  await client.query(
    `INSERT INTO api_keys
     SELECT key_hash, user_id, '{task:write,bid:write}' FROM unnest($1::bytea[], $2::uuid[]) AS key (key_hash, user_id)`,
    [keys.map(({ key }) => hashSecret(key)), keys.map(({ user }) => userIdOf(user))],
  );
  await client.query(`INSERT INTO wallets SELECT id, ${FUNDS_CENTS} FROM users`);
  await client.query(
    `INSERT INTO tasks (id, buyer_id, title, description, max_budget_cents, tags, status, created_at, updated_at)
     SELECT ${sqlIdOf("task", "n")}, ${sqlIdOf("user", `1 + n % ${size.people}`)}, 'Page ' || n, $1,
            100 + n % 10000, ARRAY['translation', 'topic' || n % 100], CASE WHEN n % 4 = 0 THEN 'cancelled' ELSE 'open' END,
            ${sqlTimeOf("n")}, ${sqlTimeOf("n")}
     FROM generate_series(${size.tasks}, 1, -1) AS n`,
    [DESCRIPTION],
  );
  await client.query(
    `INSERT INTO entries (id, user_id, kind, bucket, amount_cents, external_ref, created_at)
     SELECT ${sqlIdOf("entry", "2 * n")}, ${sqlIdOf("user", String(saverNumber(size)))}, 'topup', 'available', 1,
            'saving ' || n, ${sqlTimeOf("n")}
     FROM generate_series(${size.savings}, 1, -1) AS n`,
  );
  await client.query(indexes);
  await client.query("VACUUM ANALYZE");
  await client.end();
}
