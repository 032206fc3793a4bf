/** How an approval has ended. */
export const answerWords = {
  pending: "Waiting for you",
  approved: "Approved",
  declined: "Declined",
  expired: "Not answered in time",
  superseded: "No longer asked",
  void: "No longer possible",
  failed: "Approved, but refused",
} as const;

/** What has become of a payout. */
export const payoutWords = {
  pending: { title: "being prepared", text: "It is on its way soon." },
  waiting_funds: { title: "it waits", text: "It is tried again until it can be paid. You need not do anything." },
  in_transit: { title: "on its way", text: "Your bank will have it in a few days." },
  paid: { title: "it was paid", text: "Your bank has it." },
  failed: { title: "it failed", text: "The money is back in your wallet. Check your bank details." },
} as const;

const unposted = (why: string) =>
  `Your payment went through, but your task was not posted: ${why}. The money is in your wallet.`;

/** Why the task of a top-up was not posted. */
const notPosted = {
  too_late: unposted("the payment came more than a day later"),
  insufficient_funds: unposted("something else took the money that it needs"),
  spam_guard: unposted("too many tasks were posted in a short time"),
  account_inactive: unposted("your account is suspended"),
  invalid_input: unposted("one of its checks can no longer be reported, or the rules for tasks have changed"),
} as const;

/** What became of a top-up. */
export function creditedText({
  taskId,
  notPostedBecause,
}: {
  taskId?: string | undefined;
  notPostedBecause?: keyof typeof notPosted | undefined;
}): string {
  if (notPostedBecause !== undefined) return notPosted[notPostedBecause];
  return taskId === undefined ? "Your payment went through." : "Your payment went through, and your task is posted.";
}

/** What an agreement is about. */
export const agreed = { extend: "more time", cancel: "to cancel", settle: "a settlement" } as const;

/** How an agreement ended. */
export const endOf = (status: string) => (status === "lapsed" ? "not answered in time" : status);
