import { parseCookie } from "cookie";
import type { Request, Response } from "express";
import type { Scope } from "../schemas/scope.ts";
import { type Connection, sql } from "../store/connection.ts";
import { apiKeyPattern } from "./apiKeys.ts";
import { accessTokenPattern } from "./oauth/accessTokens.ts";
import type { Resource } from "./oauth/resources.ts";
import { isForeign, type OriginPolicy } from "./origins.ts";
import { hashSecret } from "./secretHash.ts";
import {
  decryptSessionId,
  encryptSessionId,
  findSession,
  SESSION_LIFETIME_SECONDS,
  sessionCookieName,
} from "./sessions.ts";

/** The authenticated caller. A session may do everything its user may; an API key only what its scopes allow. */
export type Principal =
  | { kind: "session"; userId: string; sessionId: string; moderator: boolean; secondFactor: boolean }
  | ({ kind: "apiKey" } & KeyHolder);

export interface KeyHolder {
  userId: string;
  keyId: string;
  scopes: readonly Scope[];
  hasSpendLimit: boolean;
  /** What a person must approve: an operation with more than this; null for a key that asks nobody. */
  approvalAboveCents: number | null;
  /** Whether this is a connected app, with an access token. */
  isGrant: boolean;
  /** Of a key that does what a person has approved: who that was. */
  approvedBy?: string;
}

/** Whether this is a moderator's session, which has proved a second factor if that is required. */
export function mayModerate(principal: Principal, { moderatorTotp }: { moderatorTotp: boolean }): boolean {
  return principal.kind === "session" && principal.moderator && (principal.secondFactor || !moderatorTotp);
}

/** How this service's session cookies are made: their name follows from the address, and the first secret encrypts them. */
export interface CookieSettings {
  publicUrl: string;
  sessionSecrets: readonly string[];
}

interface AuthenticateOptions {
  connection: Connection;
  cookies: CookieSettings;
  now: Date;
  /** What is called: an access token opens only what it was given for. */
  resource: Resource;
}

const bearerPattern = /^Bearer +(\S+) *$/i;

/**
 * Returns the caller, or null for an anonymous one. An Authorization header always takes precedence over the cookie: a
 * malformed one makes the caller anonymous instead of falling back to the cookie. So do two session cookies: another page
 * of the same site may have added its own, and the browser is told to delete both. Also extends the session, once a day.
 * Source: docs/contract.md "Authentication".
 */
export async function authenticate(
  request: Request,
  response: Response,
  options: AuthenticateOptions,
): Promise<Principal | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) return findByBearer(authorization, options);
  const [cookie, ...others] = readSessionCookies(request, options.cookies.publicUrl);
  if (others.length > 0) response.set("Clear-Site-Data", '"cookies"');
  return cookie === undefined || others.length > 0 ? null : findByCookie(cookie, response, options);
}

const TOUCH_INTERVAL = "1 minute";

/**
 * Returns null for a key or access token that is unknown, revoked or expired, of another resource, or whose user is suspended.
 * Nothing is remembered, so that a revoked key is refused at once. Notes that the key was used, once a minute.
 */
async function findByBearer(
  header: string,
  { connection, now, resource }: AuthenticateOptions,
): Promise<Principal | null> {
  const bearer = bearerPattern.exec(header)?.[1] ?? "";
  const isToken = accessTokenPattern.test(bearer);
  if (!isToken && !apiKeyPattern.test(bearer)) return null;
  const at = now.toISOString();
  const holds = isToken
    ? sql`k.id = (SELECT t.key_id FROM oauth_records t
                  WHERE t.kind = 'AccessToken' AND t.hash = ${hashSecret(bearer)}::bytea AND t.expires_at > ${at}::timestamptz)
          AND k.resource = ${resource}`
    : sql`k.key_hash = ${hashSecret(bearer)}::bytea`;
  const [found] = await connection.query<KeyHolder & { isStale: boolean }>(
    sql`
    SELECT k.id AS "keyId", k.user_id AS "userId", k.scopes, k.spend_limit_cents IS NOT NULL AS "hasSpendLimit",
           k.approval_above_cents AS "approvalAboveCents",
           k.kind = 'grant' AS "isGrant",
           k.last_used_at IS NULL OR k.last_used_at < ${at}::timestamptz - ${TOUCH_INTERVAL}::interval AS "isStale"
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE ${holds} AND k.revoked_at IS NULL
      AND k.expires_at > ${at}::timestamptz AND u.suspended_at IS NULL`,
    { sharesConnection: true },
  );
  if (found === undefined) return null;
  const { isStale, ...caller } = found;
  if (isStale) {
    // Of parallel requests with one key, one writes and the others do not wait for its lock.
    await connection.query(sql`
      UPDATE api_keys SET last_used_at = ${at}::timestamptz
      WHERE id = (SELECT id FROM api_keys WHERE id = ${caller.keyId}::uuid FOR NO KEY UPDATE SKIP LOCKED)`);
  }
  return { kind: "apiKey", ...caller };
}

async function findByCookie(
  cookie: string,
  response: Response,
  { connection, cookies, now }: AuthenticateOptions,
): Promise<Principal | null> {
  const sessionId = await decryptSessionId(cookie, cookies.sessionSecrets);
  if (sessionId === null) return null;
  const session = await findSession(connection, sessionId, now);
  if (session === null) return null;
  if (session.extended) await setSessionCookie(response, sessionId, cookies);
  const { userId, role, secondFactor } = session;
  return { kind: "session", userId, sessionId, moderator: role === "moderator", secondFactor };
}

/** Returns the value of every session cookie that the request has; "" for one with a broken % escape. */
function readSessionCookies({ headers }: Request, publicUrl: string): string[] {
  const name = sessionCookieName(publicUrl);
  // The library drops all but the first cookie of a name, so it gets them one by one.
  return (headers.cookie ?? "").split(";").flatMap((pair) => parseCookie(pair, { decode: decodeCookie })[name] ?? []);
}

function decodeCookie(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

const cookieAttributes = { httpOnly: true, secure: true, sameSite: "lax", path: "/" } as const;

export async function setSessionCookie(response: Response, sessionId: string, cookies: CookieSettings): Promise<void> {
  const cookie = await encryptSessionId(sessionId, cookies.sessionSecrets);
  const maxAge = SESSION_LIFETIME_SECONDS * 1000;
  response.cookie(sessionCookieName(cookies.publicUrl), cookie, { ...cookieAttributes, maxAge });
}

export function clearSessionCookie(response: Response, { publicUrl }: CookieSettings): void {
  response.clearCookie(sessionCookieName(publicUrl), cookieAttributes);
}

/**
 * True for a state-changing request that would authenticate with the cookie but comes from another site's page. Browsers
 * send `Origin` with every such request; a client that sends none is not a browser, and sends only the cookies it chose to
 * send.
 */
export function isCrossSite(request: Request, policy: OriginPolicy): boolean {
  if (request.method === "GET" || request.method === "HEAD") return false;
  if (request.headers.authorization !== undefined || readSessionCookies(request, policy.publicUrl).length === 0) {
    return false;
  }
  if (request.headers.origin === undefined) return request.headers["sec-fetch-site"] === "cross-site";
  return isForeign(request, policy);
}
