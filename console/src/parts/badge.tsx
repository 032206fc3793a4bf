import type { BidStatus, Payout, TaskStatus, WebhookDelivery } from "../api/client.ts";
import styles from "./badge.module.css";

type Tone = "good" | "warn" | "bad" | "accent" | "quiet";

type Status = TaskStatus | BidStatus | Payout["status"] | WebhookDelivery["status"];

const words: Record<Status, [string, Tone]> = {
  open: ["Open", "accent"],
  awarded: ["Awarded", "accent"],
  delivered: ["Delivered", "warn"],
  accepted: ["Accepted", "good"],
  cancelled: ["Cancelled", "quiet"],
  disputed: ["Disputed", "bad"],
  resolved: ["Resolved", "good"],
  expired: ["Expired", "quiet"],
  active: ["Active", "accent"],
  withdrawn: ["Withdrawn", "quiet"],
  rejected: ["Not chosen", "quiet"],
  pending: ["Pending", "warn"],
  waiting_funds: ["Waiting for funds", "warn"],
  in_transit: ["On its way", "accent"],
  paid: ["Paid", "good"],
  failed: ["Failed", "bad"],
  succeeded: ["Delivered", "good"],
};

/** A status in one word. */
export function StatusBadge({ status }: { status: Status }) {
  const [word, tone] = words[status];
  return <Badge tone={tone}>{word}</Badge>;
}

export function Badge({ tone = "quiet", children }: { tone?: Tone; children: string }) {
  return <span className={`${styles.badge} ${styles[tone]}`}>{children}</span>;
}

export const statusWord = (status: Status) => words[status][0];
