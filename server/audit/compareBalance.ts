import { Currency } from "../schemas/common.ts";
import { queryOne, sql } from "../store/connection.ts";
import type { Books, Discrepancy } from "./discrepancy.ts";

export const BALANCE = "the processor's balance covers what users and the platform own";

/**
 * Compares the platform's balance at the processor with what came in and has not left by the books. It is a floor: a payout is
 * booked before it is sent, and other money may be on the account. What the processor takes for itself is missing until it is
 * booked as a withdrawal of fees, so its fees since `since` (epoch seconds) stand beside a shortfall. Only once there is a fee:
 * before, the books know nothing that is the platform's.
 */
export async function compareBalance({ database, processor }: Books, since: number): Promise<Discrepancy[]> {
  const { hasFees, floorCents } = await queryOne<{ hasFees: boolean; floorCents: number }>(
    database,
    // An adjustment is money that the seed made, which the processor never had. What users owe is missing there, too.
    sql`
    SELECT EXISTS (SELECT FROM fee_schedules) AS "hasFees", (
      SELECT coalesce(-sum(amount_cents), 0)::bigint FROM ledger_entries WHERE bucket = 'outside' AND kind <> 'adjustment'
    ) AS "floorCents"`,
  );
  if (!hasFees) return [];
  const balanceCents = await processor.getTotalCents(Currency);
  if (balanceCents >= floorCents) return [];
  let processorFeeCents = 0;
  for await (const { feeCents } of processor.listBalanceTransactions(null, since)) processorFeeCents += feeCents;
  const from = since === 0 ? "" : ` since ${new Date(since * 1000).toISOString()}`;
  const actual = `${balanceCents}, ${floorCents - balanceCents} too little (the processor's own fees${from}: ${processorFeeCents})`;
  return [{ check: BALANCE, subject: "the platform's balance", expected: `at least ${floorCents}`, actual }];
}
