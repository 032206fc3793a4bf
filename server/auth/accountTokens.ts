import { randomBytes } from "node:crypto";
import { type Connection, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { hashSecret } from "./secretHash.ts";

/** What a token in a link allows, and for how long. Source: docs/contract.md "Authentication". */
export const tokenLifetimeSeconds = {
  reset_password: 3_600,
  verify_email: 86_400,
} as const;

export type TokenPurpose = keyof typeof tokenLifetimeSeconds;

const pagePaths: Record<TokenPurpose, string> = {
  reset_password: "/app/reset-password",
  verify_email: "/app/verify-email",
};

/**
 * Returns the address of the console's page, with the token. It opens a page with a button: only pressing it uses the token.
 * Browsers send what is behind the # to no server, so the token is in no log and in no `Referer`.
 */
export function linkOf(publicUrl: string, purpose: TokenPurpose, token: string): string {
  return `${publicUrl}${pagePaths[purpose]}#${new URLSearchParams({ token })}`;
}

interface NewToken {
  /** The id of the mail that the token is for. */
  id: string;
  userId: string;
  purpose: TokenPurpose;
  now: Date;
}

/** Stores a new token and returns it. Replaces the token of the same mail, which is being sent again. */
export async function createToken(connection: Connection, { id, userId, purpose, now }: NewToken): Promise<string> {
  const token = randomBytes(32).toString("base64url");
  const expiresAt = new Date(now.getTime() + tokenLifetimeSeconds[purpose] * 1000).toISOString();
  await connection.query(sql`
    INSERT INTO account_tokens (id, user_id, purpose, token_hash, expires_at)
    VALUES (${id}::uuid, ${userId}::uuid, ${purpose}, ${hashSecret(token)}, ${expiresAt}::timestamptz)
    ON CONFLICT (id) DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at`);
  return token;
}

const validToken = (purpose: TokenPurpose, token: string, now: Date) => sql`
  token_hash = ${hashSecret(token)} AND purpose = ${purpose} AND used_at IS NULL
  AND expires_at > ${now.toISOString()}::timestamptz`;

/** Whether the token could be used now, which only `takeToken` decides: this spares the hash of a password. */
export async function isValidToken(
  connection: Connection,
  purpose: TokenPurpose,
  token: string,
  now: Date,
): Promise<boolean> {
  const found = await connection.query(sql`SELECT 1 FROM account_tokens WHERE ${validToken(purpose, token, now)}`);
  return found.length > 0;
}

/** Uses the token up: of parallel calls, one gets the user's id and the others null. */
export async function takeToken(
  tx: Transaction,
  purpose: TokenPurpose,
  token: string,
  now: Date,
): Promise<{ userId: string; wasMailed: boolean } | null> {
  const [taken] = await tx.query<{ userId: string; wasMailed: boolean }>(sql`
    UPDATE account_tokens SET used_at = ${now.toISOString()}::timestamptz WHERE ${validToken(purpose, token, now)}
    RETURNING user_id AS "userId", sent_at IS NOT NULL AS "wasMailed"`);
  return taken ?? null;
}

/** Makes the user's unused links to reset the password void. */
export async function voidResetTokens(tx: Transaction, userId: string, now: Date): Promise<void> {
  await tx.query(sql`
    UPDATE account_tokens SET used_at = ${now.toISOString()}::timestamptz
    WHERE user_id = ${userId}::uuid AND purpose = 'reset_password' AND used_at IS NULL`);
}
