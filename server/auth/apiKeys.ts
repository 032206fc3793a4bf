import { hash, randomBytes } from "node:crypto";
import type { Scope } from "../schemas/scope.ts";
import { type Connection, sql } from "../store/connection.ts";

const PREFIX = "rb_live_";
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const RANDOM_CHARACTERS = 22;

/** A fixed prefix and 22 characters of the RFC 4648 base32 alphabet: 110 random bits. Source: docs/contract.md "Authentication". */
const apiKeyPattern = /^rb_live_[A-Z2-7]{22}$/;

/** Returns a new random key; see `apiKeyPattern`. */
export function generateApiKey(): string {
  const characters = Array.from(randomBytes(RANDOM_CHARACTERS), (byte) => ALPHABET[byte % ALPHABET.length]);
  return PREFIX + characters.join("");
}

/** SHA-256 of the key: the only form that is stored. A secret of 110 random bits needs no slow hash. */
export function hashApiKey(key: string): Buffer<ArrayBuffer> {
  return Buffer.from(hash("sha256", key, "buffer"));
}

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
    { sharesConnection: true },
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
