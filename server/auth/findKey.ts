import type { Scope } from "../schemas/scope.ts";
import { type Connection, sql } from "../store/connection.ts";
import { apiKeyPattern, hashApiKey } from "./apiKeys.ts";

/** A valid key, and what it may do. */
export interface FoundKey {
  readonly keyId: string;
  readonly userId: string;
  readonly scopes: readonly Scope[];
  readonly hasSpendLimit: boolean;
}

const TOUCH_INTERVAL = "1 minute";

/**
 * Returns null for a key that is unknown, revoked or expired, or whose user is suspended. Nothing is remembered, so that a
 * revoked key is refused at once. Notes that the key was used, once a minute.
 */
export async function findKey(connection: Connection, key: string, now: Date): Promise<FoundKey | null> {
  if (!apiKeyPattern.test(key)) return null;
  const at = now.toISOString();
  const [row] = await connection.query<FoundKey & { isStale: boolean }>(
    sql`
    SELECT k.id AS "keyId", k.user_id AS "userId", k.scopes, k.spend_limit_cents IS NOT NULL AS "hasSpendLimit",
           k.last_used_at IS NULL OR k.last_used_at < ${at}::timestamptz - ${TOUCH_INTERVAL}::interval AS "isStale"
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.key_hash = ${hashApiKey(key)}::bytea AND k.revoked_at IS NULL
      AND k.expires_at > ${at}::timestamptz AND u.suspended_at IS NULL`,
    { changesNothing: true },
  );
  if (row === undefined) return null;
  const { isStale, ...found } = row;
  if (isStale) {
    // Of parallel requests with one key, one writes and the others do not wait for its lock.
    await connection.query(sql`
      UPDATE api_keys SET last_used_at = ${at}::timestamptz
      WHERE id = (SELECT id FROM api_keys WHERE id = ${found.keyId}::uuid FOR NO KEY UPDATE SKIP LOCKED)`);
  }
  return found;
}
