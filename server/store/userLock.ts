import { sql } from "./connection.ts";
import type { Transaction } from "./database.ts";

/**
 * Locks a user's row until the transaction ends, so that what is counted per user is counted by one transaction at a
 * time, over all processes: count in a later statement, which sees what the previous holder of the lock wrote. Rows that
 * only refer to the user can still be written meanwhile.
 */
export async function lockUser(tx: Transaction, userId: string): Promise<void> {
  await tx.query(sql`SELECT 1 FROM users WHERE id = ${userId}::uuid FOR NO KEY UPDATE`);
}
