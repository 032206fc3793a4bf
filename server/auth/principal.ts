import { parseCookie } from "cookie";
import type { Request, Response } from "express";
import type { Scope } from "../schemas/scope.ts";
import { type Connection, sql } from "../store/connection.ts";
import { apiKeyPattern, hashApiKey } from "./apiKeys.ts";
import { findSession, SESSION_COOKIE, SESSION_LIFETIME_SECONDS, sealSession, unsealSession } from "./sessions.ts";

/** The authenticated caller. A session may do everything its user may; an API key only what its scopes allow. */
export type Principal =
  | { kind: "session"; userId: string; sessionId: string; moderator: boolean; secondFactor: boolean }
  | { kind: "apiKey"; userId: string; keyId: string; scopes: readonly Scope[] };

interface AuthenticateOptions {
  connection: Connection;
  sessionSecret: string;
  now: Date;
}

const bearerPattern = /^Bearer +(\S+) *$/i;
const TOUCH_INTERVAL = "1 minute";

/**
 * Returns the caller, or null for an anonymous one. An Authorization header always takes precedence over the cookie: a
 * malformed one makes the caller anonymous instead of falling back to the cookie. Also extends the session, once a day.
 * Source: docs/contract.md "Authentication".
 */
export async function authenticate(
  request: Request,
  response: Response,
  options: AuthenticateOptions,
): Promise<Principal | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) return findByBearer(authorization, options);
  const seal = readSessionCookie(request.headers.cookie);
  return seal === null ? null : findBySeal(seal, response, options);
}

async function findByBearer(header: string, { connection, now }: AuthenticateOptions): Promise<Principal | null> {
  const key = bearerPattern.exec(header)?.[1];
  if (key === undefined || !apiKeyPattern.test(key)) return null;
  const [found] = await connection.query<{ keyId: string; userId: string; scopes: Scope[]; stale: boolean }>(sql`
    SELECT k.id AS "keyId", k.user_id AS "userId", k.scopes,
           k.last_used_at IS NULL OR k.last_used_at < ${now.toISOString()}::timestamptz - ${TOUCH_INTERVAL}::interval AS stale
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.key_hash = ${hashApiKey(key)} AND k.revoked_at IS NULL AND u.suspended_at IS NULL`);
  if (!found) return null;
  // At most one write a minute for each key, so that most reads do not write. Of parallel requests with one key, one
  // writes and the others do not wait for its lock, which would hold a connection each.
  if (found.stale) {
    await connection.query(sql`
      UPDATE api_keys SET last_used_at = ${now.toISOString()}::timestamptz
      WHERE id = (SELECT id FROM api_keys WHERE id = ${found.keyId}::uuid FOR NO KEY UPDATE SKIP LOCKED)`);
  }
  return { kind: "apiKey", userId: found.userId, keyId: found.keyId, scopes: found.scopes };
}

async function findBySeal(
  seal: string,
  response: Response,
  { connection, sessionSecret, now }: AuthenticateOptions,
): Promise<Principal | null> {
  const sessionId = await unsealSession(seal, sessionSecret);
  if (sessionId === null) return null;
  const session = await findSession(connection, sessionId, now);
  if (session === null) return null;
  if (session.extended) await setSessionCookie(response, sessionId, sessionSecret);
  const { userId, role, secondFactor } = session;
  return { kind: "session", userId, sessionId, moderator: role === "moderator", secondFactor };
}

/** Returns the sealed session in a Cookie header, or null. Of several session cookies, the first that has a value counts. */
function readSessionCookie(header: string | undefined): string | null {
  return parseCookie(header ?? "", { decode: decodeCookie })[SESSION_COOKIE] || null;
}

/** Undefined makes `parseCookie` try a later cookie of the same name. A broken % escape is no session, and ends the search. */
function decodeCookie(value: string): string | undefined {
  if (value === "") return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
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
 * True for a state-changing request that authenticates with the cookie but comes from another site's page. Browsers send
 * `Origin` with every such request; a client that sends none is not a browser, and sends only the cookies it chose to send.
 */
export function isCrossSite(request: Request, publicUrl: string): boolean {
  if (request.method === "GET" || request.method === "HEAD") return false;
  if (request.headers.authorization !== undefined || readSessionCookie(request.headers.cookie) === null) {
    return false;
  }
  const { origin } = request.headers;
  if (origin === undefined) return request.headers["sec-fetch-site"] === "cross-site";
  return origin !== new URL(publicUrl).origin && origin !== `${request.protocol}://${request.headers.host}`;
}
