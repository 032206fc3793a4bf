import { sealData, unsealData } from "iron-session";
import { type Connection, queryOne, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { lockUser } from "../store/userLock.ts";

export const SESSION_COOKIE = "rebid_session";
export const SESSION_LIFETIME_SECONDS = 14 * 24 * 3600;
/** A session is extended at most this often, so that most requests do not write. */
const EXTEND_AFTER_SECONDS = 24 * 3600;
/** Source: docs/contract.md "Limits". */
const MAX_SESSIONS = 100;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Encrypts a session's id for the cookie. This takes 0.7 ms, so it happens only at login and when a session is extended.
 * Whether the session is still valid is up to its row, not to the seal.
 */
export function sealSession(sessionId: string, secret: string): Promise<string> {
  return sealData({ sessionId }, { password: secret, ttl: SESSION_LIFETIME_SECONDS });
}

/** Returns the session's id, or null for any failure: iron-session throws on some crafted cookies. */
export async function unsealSession(seal: string, secret: string): Promise<string | null> {
  try {
    const { sessionId } = await unsealData<{ sessionId?: unknown }>(seal, { password: secret });
    return typeof sessionId === "string" && uuidPattern.test(sessionId) ? sessionId : null;
  } catch {
    return null;
  }
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
  { secondFactor = false }: { secondFactor?: boolean } = {},
): Promise<string> {
  await lockUser(tx, userId);
  const live = sql`user_id = ${userId}::uuid AND expires_at > ${now.toISOString()}::timestamptz`;
  await tx.query(sql`
    DELETE FROM sessions WHERE user_id = ${userId}::uuid AND id NOT IN (
      SELECT id FROM sessions WHERE ${live} ORDER BY created_at DESC, id LIMIT ${MAX_SESSIONS - 1})`);
  const expiresAt = new Date(now.getTime() + SESSION_LIFETIME_SECONDS * 1000);
  const session = await queryOne<{ id: string }>(
    tx,
    sql`
    INSERT INTO sessions (user_id, expires_at, second_factor)
    VALUES (${userId}::uuid, ${expiresAt.toISOString()}::timestamptz, ${secondFactor})
    RETURNING id`,
  );
  return session.id;
}

interface LiveSession {
  userId: string;
  role: string;
  /** Whether this session has proved the user's second factor. */
  secondFactor: boolean;
  /** True if this call extended the session, so the cookie must be renewed as well. */
  extended: boolean;
}

/** Returns null for an expired session or a suspended user. Extends the session if the last time was over a day ago. */
export async function findSession(connection: Connection, sessionId: string, now: Date): Promise<LiveSession | null> {
  const [session] = await connection.query<Omit<LiveSession, "extended"> & { expiresAt: string }>(sql`
    SELECT s.user_id AS "userId", u.role, s.second_factor AS "secondFactor", s.expires_at AS "expiresAt"
    FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.id = ${sessionId}::uuid AND s.expires_at > ${now.toISOString()}::timestamptz AND u.suspended_at IS NULL`);
  if (!session) return null;
  const expiresAt = new Date(now.getTime() + SESSION_LIFETIME_SECONDS * 1000);
  const extended = expiresAt.getTime() - Date.parse(session.expiresAt) > EXTEND_AFTER_SECONDS * 1000;
  if (extended) {
    await connection.query(sql`
      UPDATE sessions SET expires_at = ${expiresAt.toISOString()}::timestamptz WHERE id = ${sessionId}::uuid`);
  }
  const { userId, role, secondFactor } = session;
  return { userId, role, secondFactor, extended };
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
