import type { Request, Response } from "express";
import type { Scope } from "../schemas/scope.ts";
import { type Connection, sql } from "../store/connection.ts";
import { apiKeyPattern, hashApiKey } from "./apiKeys.ts";
import { findSession, SESSION_COOKIE, SESSION_LIFETIME_SECONDS, sealSession, unsealSession } from "./sessions.ts";

/** Who is asking. A session may do everything that its user may; a key at most what its scopes say. */
export type Principal =
  | { kind: "session"; userId: string; sessionId: string; moderator: boolean }
  | { kind: "apiKey"; userId: string; keyId: string; scopes: readonly Scope[] };

export interface Authentication {
  connection: Connection;
  sessionSecret: string;
  now: Date;
}

const bearerPattern = /^Bearer +(\S+) *$/i;
const TOUCH_INTERVAL = "1 minute";

/**
 * Any Authorization header wins over the cookie, and a malformed one is nobody: it does not fall back to the cookie.
 * Source: interface.md "Authentication".
 */
export async function authenticate(
  request: Request,
  response: Response,
  by: Authentication,
): Promise<Principal | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) return findByBearer(authorization, by);
  const seal = readCookie(request.headers.cookie, SESSION_COOKIE);
  return seal === null ? null : findBySeal(seal, response, by);
}

async function findByBearer(header: string, { connection, now }: Authentication): Promise<Principal | null> {
  const key = bearerPattern.exec(header)?.[1];
  if (key === undefined || !apiKeyPattern.test(key)) return null;
  const [found] = await connection.query<{ keyId: string; userId: string; scopes: Scope[]; stale: boolean }>(sql`
    SELECT k.id AS "keyId", k.user_id AS "userId", k.scopes,
           k.last_used_at IS NULL OR k.last_used_at < ${now.toISOString()}::timestamptz - ${TOUCH_INTERVAL}::interval AS stale
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.key_hash = ${hashApiKey(key)} AND k.revoked_at IS NULL AND u.suspended_at IS NULL`);
  if (!found) return null;
  // Once a minute is enough to say when a key was last used, and keeps reads from writing.
  if (found.stale) {
    await connection.query(sql`
      UPDATE api_keys SET last_used_at = ${now.toISOString()}::timestamptz WHERE id = ${found.keyId}::uuid`);
  }
  return { kind: "apiKey", userId: found.userId, keyId: found.keyId, scopes: found.scopes };
}

async function findBySeal(seal: string, response: Response, by: Authentication): Promise<Principal | null> {
  const sessionId = await unsealSession(seal, by.sessionSecret);
  if (sessionId === null) return null;
  const session = await findSession(by.connection, sessionId, by.now);
  if (session === null) return null;
  if (session.slid) await setSessionCookie(response, sessionId, by.sessionSecret);
  return { kind: "session", userId: session.userId, sessionId, moderator: session.role === "moderator" };
}

function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of header?.split(";") ?? []) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name && value) return decodeCookie(value);
  }
  return null;
}

function decodeCookie(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

const cookieAttributes = { httpOnly: true, secure: true, sameSite: "lax", path: "/" } as const;

export async function setSessionCookie(response: Response, sessionId: string, secret: string): Promise<void> {
  const seal = await sealSession(sessionId, secret);
  response.cookie(SESSION_COOKIE, seal, { ...cookieAttributes, maxAge: SESSION_LIFETIME_SECONDS * 1000 });
}

export function clearSessionCookie(response: Response): void {
  response.clearCookie(SESSION_COOKIE, cookieAttributes);
}

/**
 * A state-changing request that rides on the cookie must come from a page of our own. Browsers send `Origin` with every
 * such request; what sends none is no browser, and has no cookies that it did not mean to send.
 */
export function isCrossSite(request: Request, publicUrl: string): boolean {
  if (request.method === "GET" || request.method === "HEAD") return false;
  if (request.headers.authorization !== undefined || readCookie(request.headers.cookie, SESSION_COOKIE) === null) {
    return false;
  }
  const { origin } = request.headers;
  if (origin === undefined) return request.headers["sec-fetch-site"] === "cross-site";
  return origin !== new URL(publicUrl).origin && origin !== `${request.protocol}://${request.headers.host}`;
}
