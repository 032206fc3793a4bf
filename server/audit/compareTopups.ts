import type { CheckoutSession } from "../gateways/processorRecords.ts";
import { isRefunded } from "../market/topups/refunds.ts";
import { sql } from "../store/connection.ts";
import type { Books, Discrepancy } from "./discrepancy.ts";
import { isOurId } from "./ourId.ts";

export const TOPUPS = "top-ups agree with the processor's payments";

/** Compares credited top-ups with paid checkout sessions. `from` is ISO 8601, `since` epoch seconds. */
export async function compareTopups(
  { database, processor }: Books,
  from: string,
  since: number,
): Promise<Discrepancy[]> {
  const payments = new Map<string, Pick<CheckoutSession, "amountCents" | "paymentIntentId"> & { sessions: number }>();
  for await (const { topupId, amountCents, paymentIntentId } of processor.listCheckoutPayments(since)) {
    // Without one of our ids the payment is for something else on the same processor account.
    if (!isOurId(topupId)) continue;
    const sessions = (payments.get(topupId)?.sessions ?? 0) + 1;
    payments.set(topupId, { amountCents, paymentIntentId, sessions });
  }
  const rows = await database.query<{ id: string; amountCents: number; status: string }>(sql`
    SELECT id, amount_cents AS "amountCents", status FROM topups
    WHERE (status = 'paid' AND created_at >= ${from}::timestamptz) OR id = ANY (${[...payments.keys()]}::uuid[])`);
  const topups = new Map(rows.map((row) => [row.id, row]));
  const found: Discrepancy[] = [];
  const report = (id: string, expected: string, actual: string) =>
    found.push({ check: TOPUPS, subject: `top-up ${id}`, expected, actual });
  for (const [id, { sessions, ...payment }] of payments) {
    const { amountCents } = payment;
    const topup = topups.get(id);
    // That of a user whom a restored database does not know can only be given back.
    if (topup === undefined && (await isRefunded(processor, payment))) continue;
    if (topup?.status !== "paid") report(id, `credited ${amountCents}`, topup?.status ?? "unknown here");
    else if (topup.amountCents !== amountCents) report(id, `${amountCents}`, `${topup.amountCents}`);
    if (sessions > 1) report(id, "one paid session", `${sessions}`);
  }
  for (const { id, amountCents } of rows) if (!payments.has(id)) report(id, "no credit", `credited ${amountCents}`);
  return found;
}
