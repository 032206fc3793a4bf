import { ApiError } from "../errors.ts";
import { sql } from "./connection.ts";
import type { Transaction } from "./database.ts";

/** A condition on `users`: neither suspended nor closed. */
const active = sql`suspended_at IS NULL AND closed_at IS NULL`;

/**
 * Locks a user's row until the transaction ends, so that what is counted per user is counted by one transaction at a
 * time, over all processes: count in a later statement, which sees what the previous holder of the lock wrote. Rows that
 * only refer to the user can still be written meanwhile. Throws `unauthenticated` if the user was suspended, or closed the
 * account, after the request was authenticated: nothing of theirs may appear after that.
 */
export async function lockUser(tx: Transaction, userId: string): Promise<void> {
  const found = await tx.query(sql`SELECT 1 FROM users WHERE id = ${userId}::uuid AND ${active} FOR NO KEY UPDATE`, {
    withBegin: true,
  });
  if (found.length === 0) throw new ApiError("unauthenticated");
}

/**
 * Returns whether a user is neither suspended nor has closed the account. That stays so until the transaction ends: any number of
 * transactions may ask at the same time; a suspension waits for them, and then finds what they wrote. Lock order: tasks before
 * users.
 */
export async function keepActive(tx: Transaction, userId: string): Promise<boolean> {
  const found = await tx.query(sql`SELECT 1 FROM users WHERE id = ${userId}::uuid AND ${active} FOR SHARE`, {
    withBegin: true,
  });
  return found.length > 0;
}

/** Like `keepActive` for the caller. Throws `unauthenticated` instead of returning false. */
export async function assertCallerActive(tx: Transaction, userId: string): Promise<void> {
  if (!(await keepActive(tx, userId))) throw new ApiError("unauthenticated");
}
