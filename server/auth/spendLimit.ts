import { ApiError } from "../errors.ts";
import type { Clock } from "../gateways/clock.ts";
import { type Sql, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { Principal } from "./principal.ts";

const timestamp = (now: Date): Sql => sql`${now.toISOString()}::timestamptz`;

/** When the period of a limited key `k` that contains `now`, a timestamp in SQL, began. */
const periodStart = (now: Sql): Sql => sql`
  CASE k.spend_limit_per WHEN 'total' THEN '-infinity'
       ELSE date_trunc(k.spend_limit_per, ${now}, 'UTC') END`;

/** What a limited key `k` has spent in the period that contains `now`. */
const spentCents = (now: Sql): Sql => sql`CASE WHEN k.spent_since < ${periodStart(now)} THEN 0 ELSE k.spent_cents END`;

/** Columns of `api_keys k` for the public record at a time of our clock, or of the database's. */
export const apiKeyColumns = (now: Date | "database"): Sql => sql`
  k.id, k.label, k.scopes, k.last4, k.created_at AS "createdAt", nullif(k.expires_at, 'infinity') AS "expiresAt",
  CASE WHEN k.spend_limit_cents IS NOT NULL THEN
    json_build_object('cents', k.spend_limit_cents, 'per', k.spend_limit_per, 'spentCents', ${spentCents(now === "database" ? sql`service_now()` : timestamp(now))})
  END AS "spendLimit",
  CASE WHEN k.approval_above_cents IS NOT NULL THEN json_build_object('aboveCents', k.approval_above_cents) END AS approval,
  k.kind, CASE WHEN k.kind = 'grant' THEN
    json_build_object('id', k.client_id, 'name', k.client_name, 'domain', k.client_domain) END AS client`;

/**
 * Counts what the caller spends, in the transaction that spends it, if the caller is an API key with a limit. It locks the
 * key's row until the commit, after the task's and before the wallets', so that the key's changes are counted one after
 * another, over all processes.
 * @param isDecidedByOwner whether the key's owner decides about it: then it counts, whatever the limit is
 * @throws ApiError `spend_limit` with `limitCents` and `spentCents`. Source: docs/contract.md "Authentication".
 */
export async function countSpending(
  tx: Transaction,
  { principal, clock }: { principal: Principal; clock: Clock },
  cents: number,
  isDecidedByOwner = false,
): Promise<void> {
  if (principal.kind !== "apiKey" || !principal.hasSpendLimit) return;
  const now = timestamp(clock.now());
  // `greatest`: a process whose clock is behind at midnight counts in the period that has begun.
  const counted = await tx.query(sql`
    UPDATE api_keys k SET spent_cents = ${spentCents(now)} + ${cents}::bigint,
                          spent_since = greatest(k.spent_since, ${periodStart(now)})
    WHERE k.id = ${principal.keyId}::uuid
      AND (${isDecidedByOwner} OR ${spentCents(now)} + ${cents}::bigint <= k.spend_limit_cents) RETURNING 1`);
  if (counted.length > 0) return;
  const [limit] = await tx.query<{ limitCents: number; spentCents: number }>(sql`
    SELECT k.spend_limit_cents AS "limitCents", ${spentCents(now)} AS "spentCents"
    FROM api_keys k WHERE k.id = ${principal.keyId}::uuid`);
  // The key was deleted after the request began.
  if (limit === undefined) throw new ApiError("unauthenticated");
  throw new ApiError("spend_limit", limit);
}
