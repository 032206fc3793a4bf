import { ApiError } from "../../errors.ts";
import type { ApiKey } from "../../schemas/apiKey.ts";
import type { Scope } from "../../schemas/scope.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { MAX_KEYS } from "../apiKeys.ts";
import { apiKeyColumns } from "../spendLimit.ts";
import type { ShownClient } from "./clients.ts";
import { type Resource, resourceUrl } from "./resources.ts";

/** What a person allows an app to do. */
export interface NewGrant {
  userId: string;
  client: ShownClient;
  resource: Resource;
  scopes: readonly Scope[];
  spendLimitCents: number;
  askAboveCents: number;
  endsAt: Date;
}

/**
 * The library gives no token without a scope, so a grant has this one beside its own. It is no scope of ours: every token may
 * read, and no token names it.
 */
export const READ = "read";

/** Inserts a grant and ends the earlier ones of the same client and resource. The caller has locked the user. */
export async function insertGrant(tx: Transaction, grant: NewGrant, now: Date): Promise<ApiKey> {
  const { userId, client, resource, scopes, spendLimitCents, askAboveCents, endsAt } = grant;
  const at = now.toISOString();
  await tx.query(sql`
    UPDATE api_keys SET revoked_at = ${at}::timestamptz
    WHERE user_id = ${userId}::uuid AND kind = 'grant' AND client_id = ${client.id} AND resource = ${resource}
      AND revoked_at IS NULL`);
  const [key] = await tx.query<ApiKey>(sql`
    INSERT INTO api_keys AS k (user_id, label, scopes, last4, expires_at, spend_limit_cents, spend_limit_per,
                               approval_above_cents, kind, client_id, client_name, client_domain, resource)
    SELECT ${userId}::uuid, ${client.name}, ${scopes}::text[], '', ${endsAt.toISOString()}::timestamptz,
           ${spendLimitCents}::bigint, 'total', ${askAboveCents}::bigint, 'grant', ${client.id}, ${client.name}, ${client.domain}, ${resource}
    WHERE (SELECT count(*) FROM api_keys
           WHERE user_id = ${userId}::uuid AND revoked_at IS NULL AND expires_at > ${at}::timestamptz) < ${MAX_KEYS}
    RETURNING ${apiKeyColumns(now)}`);
  if (key === undefined) {
    const message = `You already have ${MAX_KEYS} API keys and connected apps: revoke one first.`;
    throw new ApiError("limit_reached", { message, limit: MAX_KEYS });
  }
  return key;
}

/** A living grant as the library sees it, or null. */
export async function findGrant(
  connection: Connection,
  { grantId, publicUrl, now }: { grantId: string; publicUrl: string; now: Date },
) {
  const at = now.toISOString();
  const [row] = await connection.query<{
    userId: string;
    clientId: string;
    resource: Resource;
    scopes: Scope[];
    leftSeconds: number;
  }>(sql`
    SELECT k.user_id AS "userId", k.client_id AS "clientId", k.resource, k.scopes,
           ceil(extract(epoch FROM k.expires_at - ${at}::timestamptz))::int AS "leftSeconds"
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.id = ${grantId}::uuid AND k.kind = 'grant' AND k.revoked_at IS NULL AND k.expires_at > ${at}::timestamptz
      AND u.suspended_at IS NULL`);
  if (row === undefined) return null;
  const { userId, clientId, resource, scopes, leftSeconds } = row;
  const resources = { [resourceUrl(publicUrl, resource)]: [READ, ...scopes].join(" ") };
  return { accountId: userId, clientId, resources, leftSeconds };
}

export async function revokeGrant(connection: Connection, grantId: string, now: Date): Promise<void> {
  await connection.query(sql`
    UPDATE api_keys SET revoked_at = ${now.toISOString()}::timestamptz WHERE id = ${grantId}::uuid AND revoked_at IS NULL`);
}
