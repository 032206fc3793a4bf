import { Link } from "@tanstack/react-router";
import type { LedgerEntry } from "../api/client.ts";
import styles from "./ledgerRow.module.css";
import { Money } from "./money.tsx";
import { Time } from "./time.tsx";

type Kind = LedgerEntry["kind"];

/** What an entry means for its owner, by its kind and whether money came in or went out. */
const words: Record<Kind, { in: string; out: string; why: string }> = {
  topup: { in: "Top-up", out: "Top-up", why: "You paid it in at the checkout." },
  hold: { in: "Held for a task", out: "Held for a task", why: "The budget of a task is held while it is open." },
  hold_release: {
    in: "Returned from a task",
    out: "Returned from a task",
    why: "Less is needed than was held, or the task has ended without a payment.",
  },
  task_payment: { in: "Paid for a task", out: "Paid for a task", why: "A delivery was accepted." },
  task_earning: { in: "Earned with a task", out: "Earned with a task", why: "Your delivery was accepted." },
  dispute_refund: { in: "Returned by a dispute", out: "Returned by a dispute", why: "A moderator decided it." },
  payout: { in: "Payout", out: "Payout", why: "On its way to your bank, or there already." },
  payout_reversal: { in: "Payout returned", out: "Payout returned", why: "The payout failed." },
  topup_refund: { in: "Refund failed", out: "Top-up refunded", why: "The payment was returned to you." },
  chargeback: { in: "Chargeback returned", out: "Chargeback", why: "Your bank disputed the payment of a top-up." },
  adjustment: { in: "Adjustment", out: "Debt paid", why: "What a refund or chargeback had left open." },
};

export const kindWord = (kind: Kind) => words[kind].out;

/** One movement of money, in words. */
export function LedgerRow({ entry }: { entry: LedgerEntry }) {
  const { kind, bucket, amountCents, taskId, createdAt } = entry;
  const { in: incoming, out, why } = words[kind];
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>{amountCents > 0 ? incoming : out}</p>
        <p className={styles.meta}>
          <Time at={createdAt} /> · {why}{" "}
          {taskId !== null && (
            <Link to="/tasks/$taskId" params={{ taskId }}>
              See the task
            </Link>
          )}
        </p>
      </div>
      <div className={styles.amount}>
        <Money cents={amountCents} signed />
        <small>{bucket}</small>
      </div>
    </li>
  );
}
