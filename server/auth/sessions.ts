import { sealData, unsealData } from "iron-session";
import type { Client } from "../limits/address.ts";
import { type Connection, queryOne, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { lockUser } from "../store/userLock.ts";

export const SESSION_LIFETIME_SECONDS = 14 * 24 * 3600;
/** However often it is used, a session ends this long after the login. Source: docs/contract.md "Authentication". */
const MAX_SESSION_LIFETIME_SECONDS = 90 * 24 * 3600;
/** A session is extended at most this often, so that most requests do not write. */
const EXTEND_AFTER_SECONDS = 24 * 3600;
/** `last_seen_at` is written at most this often. */
const TOUCH_AFTER_SECONDS = 60;
/** Source: docs/contract.md "Limits". */
const MAX_SESSIONS = 100;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the cookie's name. Browsers accept a `__Host-` cookie only over HTTPS, for one host and the path `/`, so neither
 * a neighbouring domain nor a plain connection can set it.
 */
export function sessionCookieName(publicUrl: string): string {
  return publicUrl.startsWith("https:") ? "__Host-rebid_session" : "rebid_session";
}

/**
 * Encrypts a session's id for the cookie, with the newest secret, which is the first. This takes 0.7 ms, so it happens only
 * at login and when a session is extended. Whether the session is still valid is up to its row, not to the cookie.
 */
export function encryptSessionId(sessionId: string, secrets: readonly string[]): Promise<string> {
  const [newest = ""] = secrets; // iron-session refuses an empty password
  return sealData({ sessionId }, { password: newest, ttl: SESSION_LIFETIME_SECONDS });
}

/** The sessions of the cookies that a service's secrets have decrypted. */
const decrypted = new WeakMap<readonly string[], Map<string, string>>();
/** Some 5 MB. */
const MAX_DECRYPTED = 10_000;

/**
 * Returns the session's id, or null for any failure. Decrypting a cookie takes 0.6 ms, nearly as long as reading a wallet, so what
 * was decrypted is remembered. What could not be is not: anybody could send such cookies without end.
 */
export async function decryptSessionId(cookie: string, secrets: readonly string[]): Promise<string | null> {
  const known = decrypted.get(secrets) ?? new Map<string, string>();
  decrypted.set(secrets, known);
  const earlier = known.get(cookie);
  if (earlier !== undefined) return earlier;
  const sessionId = await decrypt(cookie, secrets);
  if (sessionId !== null) {
    if (known.size >= MAX_DECRYPTED) known.clear();
    known.set(cookie, sessionId);
  }
  return sessionId;
}

/**
 * Tries one secret after the other; iron-session throws on some crafted cookies. A cookie does not say which secret it was made
 * with: iron-session's ids of passwords are their places in the list, which a rotation changes.
 */
async function decrypt(cookie: string, secrets: readonly string[]): Promise<string | null> {
  for (const password of secrets) {
    try {
      const { sessionId } = await unsealData<{ sessionId?: unknown }>(cookie, { password });
      if (typeof sessionId === "string" && uuidPattern.test(sessionId)) return sessionId;
    } catch {
      // Another secret may decrypt it.
    }
  }
  return null;
}

/**
 * Inserts a session and returns its id. Deletes the user's expired sessions, and the oldest of the others while there
 * are more than 100 with the new one: nobody is refused, and sessions do not pile up. Throws `unauthenticated` for a user
 * who is suspended or has closed the account.
 */
export async function startSession(
  tx: Transaction,
  userId: string,
  now: Date,
  { secondFactor = false, client }: { secondFactor?: boolean; client?: Pick<Client, "address" | "userAgent"> } = {},
): Promise<string> {
  await lockUser(tx, userId);
  const live = sql`user_id = ${userId}::uuid AND expires_at > ${now.toISOString()}::timestamptz`;
  await tx.query(sql`
    DELETE FROM sessions WHERE user_id = ${userId}::uuid AND id NOT IN (
      SELECT id FROM sessions WHERE ${live} ORDER BY created_at DESC, id LIMIT ${MAX_SESSIONS - 1})`);
  const session = await queryOne<{ id: string }>(
    tx,
    sql`
    INSERT INTO sessions (user_id, expires_at, last_seen_at, ends_at, second_factor, user_agent, address)
    VALUES (${userId}::uuid, ${after(now, SESSION_LIFETIME_SECONDS)}::timestamptz, ${now.toISOString()}::timestamptz,
            ${after(now, MAX_SESSION_LIFETIME_SECONDS)}::timestamptz, ${secondFactor},
            ${client?.userAgent ?? null}, ${client?.address ?? null})
    RETURNING id`,
  );
  return session.id;
}

const after = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();

interface LiveSession {
  userId: string;
  role: string;
  /** Whether this session has proved the user's second factor. */
  secondFactor: boolean;
  /** True if this call extended the session, so the cookie must be renewed as well. */
  extended: boolean;
}

interface SessionRow {
  userId: string;
  role: string;
  secondFactor: boolean;
  extendible: boolean;
  stale: boolean;
}

/**
 * Returns null for an expired session or a suspended user. Extends the session if the last time was over a day ago, and
 * notes that it was used, once a minute.
 */
export async function findSession(connection: Connection, sessionId: string, now: Date): Promise<LiveSession | null> {
  const expiresAt = sql`least(ends_at, ${after(now, SESSION_LIFETIME_SECONDS)}::timestamptz)`;
  const [session] = await connection.query<SessionRow>(
    sql`
    SELECT s.user_id AS "userId", u.role, s.second_factor AS "secondFactor",
           ${expiresAt} - s.expires_at > ${`${EXTEND_AFTER_SECONDS} seconds`}::interval AS extendible,
           s.last_seen_at < ${after(now, -TOUCH_AFTER_SECONDS)}::timestamptz AS stale
    FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.id = ${sessionId}::uuid AND s.expires_at > ${now.toISOString()}::timestamptz AND u.suspended_at IS NULL`,
    { sharesConnection: true },
  );
  if (!session) return null;
  const { userId, role, secondFactor, extendible, stale } = session;
  if (extendible || stale) {
    // Of parallel requests with one session, one writes and the others do not wait for its lock.
    await connection.query(sql`
      UPDATE sessions SET last_seen_at = ${now.toISOString()}::timestamptz,
        expires_at = CASE WHEN ${extendible} THEN ${expiresAt} ELSE expires_at END
      WHERE id = (SELECT id FROM sessions WHERE id = ${sessionId}::uuid FOR NO KEY UPDATE SKIP LOCKED)`);
  }
  return { userId, role, secondFactor, extended: extendible };
}

/** Deletes the session, which makes every copy of its cookie useless. */
export async function endSession(connection: Connection, sessionId: string): Promise<void> {
  await connection.query(sql`DELETE FROM sessions WHERE id = ${sessionId}::uuid`);
}

/** Deletes all of the user's sessions but `kept`. Call it in the transaction that changes the password. */
export async function endSessions(tx: Transaction, userId: string, kept: string | null): Promise<void> {
  await tx.query(sql`
    DELETE FROM sessions WHERE user_id = ${userId}::uuid AND id IS DISTINCT FROM ${kept}::uuid`);
}
