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
