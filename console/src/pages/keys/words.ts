import type { ApiKey, KeyAct } from "../../api/client.ts";
import { formatMoney } from "../../parts/format.ts";

type ActType = KeyAct["types"][number];

/** What a key did, in words; of an act with several events, the one that stands first here. What has no words follows from another. */
const actWords: Partial<Record<ActType, string>> = {
  "task.created": "Posted a task",
  "task.awarded": "Awarded a task",
  "task.accepted": "Accepted a delivery",
  "task.cancelled": "Ended a task",
  "task.settled": "Settled a task",
  "task.disputed": "Opened a dispute",
  "task.dispute_resolved": "Settled a dispute",
  "task.changes_requested": "Asked for changes",
  "task.changes_declined": "Declined changes",
  "task.updated": "Changed a task",
  "agreement.proposed": "Proposed an agreement",
  "agreement.ended": "Answered or withdrew an agreement",
  "bid.received": "Bid on a task",
  "bid.updated": "Changed a bid",
  "bid.withdrawn": "Withdrew a bid",
  "sample.posted": "Added a sample",
  "delivery.posted": "Delivered",
  "delivery.checked": "Reported a check of a delivery",
  "rating.posted": "Rated the other side",
  "question.asked": "Asked a question",
  "question.answered": "Answered a question",
  "message.posted": "Wrote a message",
  "payout.updated": "Requested a payout",
};

export function wordsOfAct(types: readonly ActType[]): string {
  const [words] = Object.entries(actWords).flatMap(([type, words]) =>
    types.some((each) => each === type) ? [words] : [],
  );
  return words ?? types.join(", ");
}

const periods = { day: "today", month: "this month", total: "in all" };

/** What a key may spend, and has spent, in words. */
export function wordsOfLimit({ cents, per, spentCents }: NonNullable<ApiKey["spendLimit"]>): string {
  const spent = formatMoney(spentCents);
  if (cents > 0) return `${spent} of ${formatMoney(cents)} spent, ${periods[per]}`;
  return `spends nothing by itself${spentCents > 0 ? `; ${spent} spent with your approval` : ""}`;
}

export const wordsOfApproval = ({ aboveCents }: NonNullable<ApiKey["approval"]>): string =>
  `asks you about anything ${aboveCents === 0 ? "that moves money" : `above ${formatMoney(aboveCents)}`}`;
