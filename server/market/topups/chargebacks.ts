import { z } from "zod";
import { Related } from "../../gateways/snapshots.ts";
import type { Transaction } from "../../store/database.ts";
import { applied, type EventOutcome, ignored } from "../eventOutcome.ts";
import type { PaidTopup } from "./paid.ts";
import { recordReversal } from "./reversed.ts";

const DisputeSnapshot = z.object({
  id: z.string(),
  payment_intent: Related,
  balance_transactions: z.array(z.object({ id: z.string(), amount: z.int() })).default([]),
});

interface DisputeUpdate {
  id: string;
  paymentIntentId: string | null;
  /** The dispute's effects on the platform's balance so far; signed, before fees. */
  movements: { id: string; amountCents: number }[];
}

/** Reads a `charge.dispute.*` event; null if it does not contain a dispute. */
export function readDispute(data: unknown): DisputeUpdate | null {
  const dispute = DisputeSnapshot.safeParse(data).data;
  if (dispute === undefined) return null;
  const movements = dispute.balance_transactions.map(({ id, amount }) => ({ id, amountCents: amount }));
  return { id: dispute.id, paymentIntentId: dispute.payment_intent, movements };
}

/**
 * Makes the wallet follow the platform's balance: what a dispute withdrew is debited as `chargeback`, and what it
 * reinstated is credited under the same kind. Each snapshot lists all movements so far and each is booked once, so
 * order does not matter. Withdrawals are booked first, because a reinstatement pays the debt that they leave.
 */
export async function applyDispute(tx: Transaction, topup: PaidTopup, dispute: DisputeUpdate): Promise<EventOutcome> {
  let booked = 0;
  for (const { id, amountCents } of dispute.movements.toSorted((a, b) => a.amountCents - b.amountCents)) {
    const reference = `dispute:${dispute.id}:${id}`;
    if (amountCents === 0) continue;
    const entry =
      amountCents < 0
        ? await tx.ledger.clawBack(topup.userId, "chargeback", -amountCents, reference)
        : await tx.ledger.deposit(topup.userId, "chargeback", amountCents, reference);
    if (entry === null) continue;
    await recordReversal(tx, topup, { kind: "chargeback", amountCents });
    booked += 1;
  }
  return booked === 0 ? ignored("nothing new") : applied(`${booked} booked`);
}
