import type { ProcessorTransfer } from "../../gateways/processorRecords.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { recordPayoutUpdated } from "./publicRecord.ts";

/** A transfer to a connected account that the books do not know, for a user whom they know. */
export interface LostPayout {
  id: string;
  userId: string;
  accountId: string;
  transfer: ProcessorTransfer;
}

/**
 * Stores a payout that was sent and is not in the books, as after a restore of the database to an earlier time, as if it had
 * just been requested; the facts about it follow. What the wallet no longer has becomes a debt, because the money is gone.
 * Returns false if the payout is in the books by now.
 */
export async function adoptPayout(tx: Transaction, { id, userId, accountId, transfer }: LostPayout): Promise<boolean> {
  const { amountCents, currency, createdAt } = transfer;
  const booked = await tx.ledger.clawBack(userId, "payout", amountCents, `payout:${id}`);
  if (booked === null) return false;
  // The processor's times have seconds, and no two payouts of a user may have the same one: the id tells them apart.
  await tx.query(sql`
    INSERT INTO payouts (id, user_id, account_id, amount_cents, currency, ledger_entry_id, next_step_at, created_at)
    SELECT ${id}::uuid, user_id, ${accountId}, ${amountCents}, ${currency}, id, service_now(),
           to_timestamp(${createdAt}) + ('x' || right(${id}, 5))::bit(20)::int % 1000000 * interval '1 microsecond'
    FROM ledger_entries WHERE transfer_id = ${booked}::uuid AND user_id IS NOT NULL ORDER BY bucket LIMIT 1`);
  await recordPayoutUpdated(tx, id, userId);
  return true;
}
