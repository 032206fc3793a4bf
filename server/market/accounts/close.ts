import { removeFactor } from "../../auth/secondFactor.ts";
import { ApiError, type OpenMatter } from "../../errors.ts";
import { type Connection, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { lockUser } from "../../store/userLock.ts";
import { deleteEndpoints } from "../../webhooks/deleteEndpoints.ts";
import { unfinishedPayoutStates } from "../payouts/unfinished.ts";
import { deleteCredentials } from "./suspension.ts";

const DELETED_NAME = "Deleted user";
const IDS_SHOWN = 10;

/**
 * Closes an account for good: what could identify its owner is removed, so that others' records show "Deleted user" and the
 * address can sign up again. What belongs to others too stays: tasks, bids, files, disputes, ratings, and the ledger. Throws
 * `account_in_use` with everything that must be finished first. The lock waits for transactions that rely on the user being
 * active, and after it nothing new of theirs appears.
 */
export async function closeAccount(
  tx: Transaction,
  { clock }: { readonly clock: { now(): Date } },
  userId: string,
): Promise<void> {
  await lockUser(tx, userId);
  const open = await readOpenMatters(tx, userId);
  if (open.length > 0) throw new ApiError("account_in_use", { open });
  await tx.query(sql`
    UPDATE users SET email = 'closed:' || id, password_hash = '', display_name = ${DELETED_NAME}, role = 'member', time_zone = NULL,
           closed_at = ${clock.now().toISOString()}::timestamptz
    WHERE id = ${userId}::uuid`);
  await deleteCredentials(tx, userId);
  await removeFactor(tx, userId);
  await deleteEndpoints(tx, sql`user_id = ${userId}::uuid`);
  await tx.query(sql`UPDATE webhook_endpoints SET url = '' WHERE user_id = ${userId}::uuid`);
  // The processor's own record of its account stays there, as the law asks of it.
  await tx.query(sql`
    UPDATE payout_accounts SET email = '', display_name = ${DELETED_NAME} WHERE user_id = ${userId}::uuid`);
  await tx.query(sql`DELETE FROM account_tokens WHERE user_id = ${userId}::uuid`);
  await tx.query(sql`DELETE FROM notifications WHERE user_id = ${userId}::uuid`);
  await tx.query(sql`DELETE FROM notification_mails WHERE user_id = ${userId}::uuid`);
  await tx.query(sql`DELETE FROM notification_preferences WHERE user_id = ${userId}::uuid`);
  const exports = await tx.query(sql`
    UPDATE exports SET expires_at = least(expires_at, service_now()) WHERE user_id = ${userId}::uuid RETURNING 1`);
  if (exports.length > 0) tx.jobs.add("pruneExports", {});
  await tx.query(sql`DELETE FROM idempotency_keys WHERE user_id = ${userId}::uuid`);
}

/** Returns everything that keeps a user from closing the account. */
async function readOpenMatters(connection: Connection, userId: string): Promise<OpenMatter[]> {
  const user = sql`${userId}::uuid`;
  const count = async (kind: OpenMatter["kind"], rows: Sql): Promise<OpenMatter[]> => {
    const [found] = await connection.query<{ count: number; ids: string[] | null }>(sql`
      WITH open AS (${rows})
      SELECT (SELECT count(*)::int FROM open) AS count,
             ARRAY(SELECT id::text FROM open ORDER BY id LIMIT ${IDS_SHOWN}) AS ids`);
    return found && found.count > 0 ? [{ kind, count: found.count, ids: found.ids ?? [] }] : [];
  };
  const [wallet] = await connection.query<{ available: number; held: number; debt: number }>(sql`
    SELECT available_cents AS available, held_cents AS held, debt_cents AS debt FROM wallets WHERE user_id = ${user}`);
  const money = (["available", "held", "debt"] as const).map((kind) => ({ kind, cents: wallet?.[kind] ?? 0 }));
  const parties = sql`SELECT id FROM tasks WHERE buyer_id = ${user} AND status = 'disputed'
    UNION ALL SELECT id FROM tasks WHERE awarded_bidder_id = ${user} AND status = 'disputed'`;
  return [
    ...(await count(
      "tasks",
      sql`SELECT id FROM tasks WHERE buyer_id = ${user} AND status IN ('open', 'awarded', 'delivered', 'disputed')`,
    )),
    ...(await count(
      "awards",
      sql`SELECT id FROM tasks WHERE awarded_bidder_id = ${user} AND status IN ('awarded', 'delivered', 'disputed')`,
    )),
    ...(await count("bids", sql`SELECT id FROM bids WHERE bidder_id = ${user} AND status = 'active'`)),
    ...(await count("disputes", sql`SELECT id FROM disputes WHERE task_id IN (${parties}) AND status = 'open'`)),
    ...(await count(
      "topups",
      sql`SELECT id FROM topups WHERE user_id = ${user} AND status IN ('created', 'processing')`,
    )),
    ...(await count(
      "payouts",
      sql`SELECT id FROM payouts WHERE user_id = ${user} AND state = ANY (${unfinishedPayoutStates}::text[])`,
    )),
    ...money.filter(({ cents }) => cents > 0),
  ];
}

export async function isClosed(connection: Connection, userId: string): Promise<boolean> {
  const found = await connection.query(sql`
    SELECT 1 FROM users WHERE id = ${userId}::uuid AND closed_at IS NOT NULL`);
  return found.length > 0;
}
