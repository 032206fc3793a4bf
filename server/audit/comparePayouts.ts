import type { ProcessorPayout, ProcessorTransfer } from "../gateways/processorRecords.ts";
import type { PayoutState } from "../market/payouts/rules.ts";
import { sql } from "../store/connection.ts";
import type { Books, Discrepancy } from "./discrepancy.ts";
import { isOurId } from "./ourId.ts";

export const TRANSFERS = "payouts agree with the processor's transfers";
export const PAYOUTS = "payouts agree with the processor's payouts to banks";

/**
 * The processor's statuses that agree with each of our states. `paid` agrees with `sent`, because the arrival at the
 * bank moves none of our money and its event may still be under way.
 */
const statusesOf = {
  created: [],
  unfunded: [],
  transferred: [],
  settling: [],
  sent: ["pending", "in_transit", "paid"],
  paid: ["paid"],
  returning: ["failed", "canceled"],
  failed: ["failed", "canceled"],
} satisfies Record<PayoutState, string[]>;

interface PayoutRow {
  id: string;
  accountId: string;
  amountCents: number;
  state: PayoutState;
}

/** Compares payouts with the transfers and payouts at the processor. `from` is ISO 8601, `since` epoch seconds. */
export async function comparePayouts(
  { database, processor }: Books,
  from: string,
  since: number,
): Promise<Discrepancy[]> {
  const transfers = new Map<string, ProcessorTransfer[]>();
  for await (const transfer of processor.listTransfers(since)) {
    if (!isOurId(transfer.transferGroup)) continue;
    transfers.set(transfer.transferGroup, [...(transfers.get(transfer.transferGroup) ?? []), transfer]);
  }
  const rows = await database.query<PayoutRow>(sql`
    SELECT id, account_id AS "accountId", amount_cents AS "amountCents", state FROM payouts
    WHERE created_at >= ${from}::timestamptz OR id = ANY (${[...transfers.keys()]}::uuid[])`);
  const payouts = new Map<string, ProcessorPayout[]>();
  for (const accountId of new Set(rows.map((row) => row.accountId))) {
    for await (const payout of processor.listPayouts(accountId, since)) {
      const id = payout.payoutId ?? "";
      payouts.set(id, [...(payouts.get(id) ?? []), payout]);
    }
  }
  const found: Discrepancy[] = [];
  const known = new Set(rows.map(({ id }) => id));
  for (const id of transfers.keys()) {
    if (!known.has(id))
      found.push({ check: TRANSFERS, subject: `payout ${id}`, expected: "a payout", actual: "unknown here" });
  }
  for (const row of rows) {
    const subject = `payout ${row.id} (${row.state})`;
    const transfer = transferDifference(row, transfers.get(row.id) ?? []);
    if (transfer !== null) found.push({ check: TRANSFERS, subject, ...transfer });
    const payout = payoutDifference(row, payouts.get(row.id) ?? []);
    if (payout !== null) found.push({ check: PAYOUTS, subject, ...payout });
  }
  return found;
}

type Difference = { expected: string; actual: string } | null;

/** The transfer must have the amount that left the wallet, and be reversed once the wallet has that amount back. */
function transferDifference({ state, amountCents, accountId }: PayoutRow, transfers: ProcessorTransfer[]): Difference {
  const [transfer, ...others] = transfers;
  const actual =
    transfers.map((t) => `${t.amountCents} to ${t.accountId}, ${t.reversedCents} reversed`).join("; ") || "none";
  if (others.length > 0) return { expected: "one transfer", actual };
  const mayHaveNone = state === "created" || state === "unfunded" || state === "failed";
  if (transfer === undefined) return mayHaveNone ? null : { expected: `${amountCents} to ${accountId}`, actual };
  const reversedCents = state === "failed" ? amountCents : 0;
  const agrees =
    transfer.amountCents === amountCents &&
    transfer.accountId === accountId &&
    transfer.reversedCents === reversedCents;
  return agrees ? null : { expected: `${amountCents} to ${accountId}, ${reversedCents} reversed`, actual };
}

/** The processor's payout must have the same amount, and a status that agrees with our state. */
function payoutDifference({ state, amountCents }: PayoutRow, payouts: ProcessorPayout[]): Difference {
  const [payout, ...others] = payouts;
  const actual = payouts.map(({ amountCents: cents, status }) => `${cents}, ${status}`).join("; ") || "none";
  if (others.length > 0) return { expected: "one payout", actual };
  const statuses: readonly string[] = statusesOf[state];
  const expected = `${amountCents}, ${statuses.join(" or ") || "none yet"}`;
  if (payout === undefined) return state === "sent" || state === "paid" ? { expected, actual } : null;
  const agrees = payout.amountCents === amountCents && statuses.includes(payout.status);
  return agrees ? null : { expected, actual };
}
