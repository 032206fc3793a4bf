import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Database } from "../../store/database.ts";

/** Returns what the platform has earned and not withdrawn, in cents. */
export async function readPlatformCents(connection: Connection): Promise<number> {
  const { cents } = await queryOne<{ cents: number }>(
    connection,
    sql`SELECT coalesce(sum(amount_cents), 0)::bigint AS cents FROM ledger_entries WHERE bucket = 'platform'`,
  );
  return cents;
}

/**
 * Books a withdrawal of earned fees. Returns false if it was booked before. The database refuses more than there is, and a
 * reference that was used for another amount.
 */
export async function withdrawFees(database: Database, amountCents: number, reference: string): Promise<boolean> {
  const transferId = await database.transaction((tx) =>
    tx.ledger.withdrawFees(amountCents, `${WITHDRAWAL_PREFIX}${reference}`),
  );
  return transferId !== null;
}

/** What the references of withdrawals begin with in the ledger, so that they meet no others. */
export const WITHDRAWAL_PREFIX = "fee_withdrawal:";
