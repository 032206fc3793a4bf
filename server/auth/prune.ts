import type { Clock } from "../gateways/clock.ts";
import { type Connection, sql } from "../store/connection.ts";
import { daysAgo, deleteInBatches, ENDED_KEPT_DAYS } from "../store/retention.ts";

/** Longer than any token is valid, and than a mail is sent again with the same id. */
const TOKENS_KEPT_DAYS = 2;

/** So long a code or token that is used again after its end is still known. */
const RECORDS_KEPT_DAYS = 1;

/** Deletes tokens of mails and records of OAuth that have expired, sessions that have ended, and API keys that ended 90 days ago. */
export async function pruneAccounts({ database, clock }: { database: Connection; clock: Clock }): Promise<void> {
  await deleteInBatches(
    database,
    (limit) => sql`
    DELETE FROM account_tokens WHERE id IN (
      SELECT id FROM account_tokens WHERE created_at < ${daysAgo(clock, TOKENS_KEPT_DAYS)}
      ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
  await deleteInBatches(
    database,
    (limit) => sql`
    DELETE FROM sessions WHERE id IN (
      SELECT id FROM sessions WHERE expires_at < ${daysAgo(clock, 0)}
      ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
  await deleteInBatches(
    database,
    (limit) => sql`
    DELETE FROM api_keys WHERE id IN (
      SELECT id FROM api_keys
      WHERE least(revoked_at, expires_at) < 'infinity' AND least(revoked_at, expires_at) < ${daysAgo(clock, ENDED_KEPT_DAYS)}
      ORDER BY least(revoked_at, expires_at) LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
  await deleteInBatches(
    database,
    (limit) => sql`
    DELETE FROM oauth_records WHERE (kind, hash) IN (
      SELECT kind, hash FROM oauth_records WHERE expires_at < ${daysAgo(clock, RECORDS_KEPT_DAYS)}
      ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
}
