import { removeFactor } from "../../auth/secondFactor.ts";
import { endSessions } from "../../auth/sessions.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { deleteEndpoints } from "../../webhooks/deleteEndpoints.ts";

/**
 * Takes the account back from anyone else who may have got into it: ends all sessions and revokes all API keys. Whoever signed
 * up with another person's address also loses what would tell or pay them something: the endpoints and the payout account
 * that were set up before the address was first verified. Call it in the transaction that sets a new password, after it has
 * updated the user's row and before the address counts as verified. Returns the ids of the keys.
 * @param byMail whether the caller has received a mail at the address. Only then is the second factor removed, without
 *   which they could not sign in. A moderator's stays, because a mailbox alone must not open a moderator's account: an
 *   operator can remove it.
 */
export async function reclaimAccount(
  tx: Transaction,
  userId: string,
  { now, byMail }: { now: Date; byMail: boolean },
): Promise<{ revokedKeyIds: string[] }> {
  const user = sql`${userId}::uuid`;
  const isUnproven = sql`created_at < coalesce(
    (SELECT email_verified_at FROM users WHERE id = ${user}), 'infinity'::timestamptz)`;
  await endSessions(tx, userId, null);
  const revoked = await tx.query<{ id: string }>(sql`
    UPDATE api_keys SET revoked_at = ${now.toISOString()}::timestamptz
    WHERE user_id = ${user} AND revoked_at IS NULL RETURNING id`);
  await deleteEndpoints(tx, sql`user_id = ${user} AND ${isUnproven}`);
  // The processor keeps its own record of the account, and payouts that are under way end there.
  await tx.query(sql`DELETE FROM payout_accounts WHERE user_id = ${user} AND ${isUnproven}`);
  if (byMail) {
    const [factor] = await tx.query(sql`
      SELECT 1 FROM totp_factors WHERE user_id = ${user} AND ${isUnproven}
        AND NOT EXISTS (SELECT 1 FROM users WHERE id = ${user} AND role = 'moderator')`);
    if (factor) await removeFactor(tx, userId);
  }
  return { revokedKeyIds: revoked.map(({ id }) => id) };
}
