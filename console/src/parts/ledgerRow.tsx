import { Link } from "@tanstack/react-router";
import { Receipt, type ReceiptSubject } from "../papers/receipt.tsx";
import { formatMoney } from "./format.ts";
import styles from "./ledgerRow.module.css";
import { Money } from "./money.tsx";
import type { Movement } from "./movements.ts";
import { Time } from "./time.tsx";

type Kind = Movement["kind"];

/** What a movement is called, when it takes away and when it adds, and why there is one. */
const words: Record<Kind, { out: string; in?: string; why: string; whyIn?: string }> = {
  topup: { out: "Top-up", why: "You paid it in at the checkout." },
  hold: { out: "Held for a task", why: "The budget of a task is held while it is open." },
  hold_release: {
    out: "Returned from a task",
    why: "Less is needed than was held, or the task ended without a payment.",
  },
  task_payment: { out: "Paid for a task", why: "A delivery was accepted, or a moderator decided it." },
  task_earning: { out: "Earned with a task", why: "Your delivery was accepted, or a moderator decided it." },
  platform_fee: { out: "The platform's fee", why: "The platform's part of what you earned." },
  dispute_refund: { out: "Returned by a dispute", why: "A moderator decided it." },
  payout: { out: "Payout", why: "On its way to your bank, or there already." },
  payout_reversal: { out: "Payout returned", why: "The payout failed." },
  topup_refund: { out: "Top-up refunded", in: "Refund failed", why: "The payment was returned to you." },
  chargeback: { out: "Chargeback", in: "Chargeback returned", why: "Your bank disputed the payment of a top-up." },
  adjustment: {
    out: "Debt paid",
    in: "Credit",
    why: "Money that came in has paid what a refund or a chargeback left owing.",
    whyIn: "A correction by the operators of this marketplace.",
  },
};

export const kindWord = (kind: Kind) => words[kind].out;

/** One movement of money, in words. */
export function LedgerRow({ movement }: { movement: Movement }) {
  const { kind, availableCents, heldCents, taskId, taskTitle, createdAt } = movement;
  const { out, in: incoming = out, why, whyIn = why } = words[kind];
  const totalCents = availableCents + heldCents;
  const comesIn = totalCents > 0;
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>{comesIn ? incoming : out}</p>
        <p className={styles.meta}>
          <Time at={createdAt} /> · {comesIn ? whyIn : why}{" "}
          {taskId !== null && (
            <Link to="/tasks/$taskId" params={{ taskId }}>
              <bdi>{taskTitle}</bdi>
            </Link>
          )}
        </p>
      </div>
      <div className={styles.amount}>
        {totalCents === 0 ? <Money cents={Math.abs(availableCents)} /> : <Money cents={totalCents} signed />}
        <small>{whereOf(movement)}</small>
        {movement.hasReceipt && (
          <Receipt
            subject={subjectOf(movement)}
            of={`${comesIn ? incoming : out}, ${formatMoney(Math.abs(totalCents))}`}
          />
        )}
      </div>
    </li>
  );
}

function subjectOf({ taskId, topupId, payoutId }: Movement): ReceiptSubject {
  if (topupId !== null) return { topupId };
  return payoutId === null ? { taskId: taskId ?? undefined } : { payoutId };
}

function whereOf({ availableCents, heldCents }: Movement): string {
  if (availableCents !== 0 && heldCents !== 0) return availableCents < 0 ? "available → held" : "held → available";
  return availableCents !== 0 ? "available" : "held";
}
