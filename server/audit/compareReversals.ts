import type { ProcessorBalanceTransaction } from "../gateways/processorRecords.ts";
import { sql } from "../store/connection.ts";
import type { Books, Discrepancy } from "./discrepancy.ts";

export const REVERSALS = "refunds and disputes agree with the processor's balance";

/** Returns the ledger's reference for a movement of the platform's balance; null if no refund or dispute caused it. */
export function referenceOf({ id, sourceKind, sourceId, amountCents }: ProcessorBalanceTransaction): string | null {
  // By its source and not its type, because slow payment methods such as bank debits use other types.
  if (sourceKind === "dispute") return `dispute:${sourceId}:${id}`;
  if (sourceKind !== "refund") return null;
  return amountCents < 0 ? `refund:${sourceId}` : `refund:${sourceId}:failed`;
}

/**
 * Compares the effect of refunds and disputes on the platform's balance with the ledger, by the ledger's references.
 * `since` is in epoch seconds. `all`: `since` covers the whole ledger, so every entry must be in the processor's list.
 */
export async function compareReversals(
  { database, processor }: Books,
  all: boolean,
  since: number,
): Promise<Discrepancy[]> {
  const listed: { reference: string; paymentIntentId: string | null; amountCents: number }[] = [];
  for await (const transaction of processor.listBalanceTransactions(null, since)) {
    const reference = referenceOf(transaction);
    const { paymentIntentId, amountCents } = transaction;
    if (reference !== null) listed.push({ reference, paymentIntentId, amountCents });
  }
  const payments = await database.query<{ id: string }>(sql`
    SELECT payment_intent_id AS id FROM topups
    WHERE payment_intent_id = ANY (${listed.map(({ paymentIntentId }) => paymentIntentId)}::text[])`);
  // Without one of our top-ups it is about something else on the same processor account.
  const ours = new Set<string | null>(payments.map(({ id }) => id));
  const movements = new Map(
    listed.filter(({ paymentIntentId }) => ours.has(paymentIntentId)).map((m) => [m.reference, m.amountCents]),
  );
  const rows = await database.query<{ reference: string; cents: number }>(sql`
    SELECT t.external_ref AS reference, -e.amount_cents AS cents
    FROM ledger_transfers t JOIN ledger_entries e ON e.transfer_id = t.id AND e.bucket = 'outside'
    WHERE (${all} AND e.kind IN ('topup_refund', 'chargeback')) OR t.external_ref = ANY (${[...movements.keys()]}::text[])`);
  const booked = new Map(rows.map(({ reference, cents }) => [reference, cents]));
  const found: Discrepancy[] = [];
  for (const reference of new Set([...movements.keys(), ...booked.keys()])) {
    const [expected, actual] = [movements.get(reference) ?? 0, booked.get(reference) ?? 0];
    if (expected !== actual)
      found.push({ check: REVERSALS, subject: reference, expected: `${expected}`, actual: `${actual}` });
  }
  return found;
}
