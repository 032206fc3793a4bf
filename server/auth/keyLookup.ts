import type { Clock } from "../gateways/clock.ts";
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

interface Asker {
  readonly hash: string;
  readonly resolve: (found: FoundKey | null) => void;
  readonly reject: (error: unknown) => void;
}

const TOUCH_INTERVAL = "1 minute";
/** Statements under way. One would do, but all callers would wait for a connection that has become silent. */
const MAX_UNDER_WAY = 2;
/** Keys in one statement. */
const MAX_KEYS = 100;

/**
 * Looks up the API keys of requests. Keys that arrive while others are looked up go together in the next statement, so that a
 * busy process needs one for many requests; each is looked up after its request came, so that a revoked one is refused at
 * once.
 */
export class KeyLookup {
  readonly #database: Connection;
  readonly #clock: Clock;
  readonly #waiting: Asker[] = [];
  #underWay = 0;

  constructor({ database, clock }: { database: Connection; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Returns null for a key that is unknown, revoked or expired, or whose user is suspended. */
  async find(key: string): Promise<FoundKey | null> {
    if (!apiKeyPattern.test(key)) return null;
    const hash = hashApiKey(key).toString("hex");
    return new Promise((resolve, reject) => {
      this.#waiting.push({ hash, resolve, reject });
      if (this.#underWay < MAX_UNDER_WAY) void this.#findWaiting();
    });
  }

  async #findWaiting(): Promise<void> {
    this.#underWay++;
    while (this.#waiting.length > 0) {
      const askers = this.#waiting.splice(0, MAX_KEYS);
      try {
        const found = await this.#findAll([...new Set(askers.map(({ hash }) => hash))]);
        for (const { hash, resolve } of askers) resolve(found.get(hash) ?? null);
      } catch (error) {
        for (const { reject } of askers) reject(error);
      }
    }
    this.#underWay--;
  }

  async #findAll(hashes: readonly string[]): Promise<Map<string, FoundKey>> {
    const now = this.#clock.now().toISOString();
    const rows = await this.#database.query<FoundKey & { hash: string; isStale: boolean }>(sql`
      SELECT encode(k.key_hash, 'hex') AS hash, k.id AS "keyId", k.user_id AS "userId", k.scopes,
             k.spend_limit_cents IS NOT NULL AS "hasSpendLimit",
             k.last_used_at IS NULL OR k.last_used_at < ${now}::timestamptz - ${TOUCH_INTERVAL}::interval AS "isStale"
      FROM api_keys k JOIN users u ON u.id = k.user_id
      WHERE k.key_hash = ANY (${hashes.map((hash) => `\\x${hash}`)}::bytea[]) AND k.revoked_at IS NULL
        AND k.expires_at > ${now}::timestamptz AND u.suspended_at IS NULL`);
    const stale = rows.filter(({ isStale }) => isStale).map(({ keyId }) => keyId);
    // At most one write a minute for each key, so that most reads do not write. Of parallel requests with one key, one
    // writes and the others do not wait for its lock, which would hold a connection each.
    if (stale.length > 0) {
      await this.#database.query(sql`
        UPDATE api_keys SET last_used_at = ${now}::timestamptz
        WHERE id IN (SELECT id FROM api_keys WHERE id = ANY (${stale}::uuid[]) FOR NO KEY UPDATE SKIP LOCKED)`);
    }
    return new Map(rows.map(({ hash, isStale: _, ...found }) => [hash, found]));
  }
}
