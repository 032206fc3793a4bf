/** The amounts a transition can move. The whole budget is held until the award, then only the bid's price. */
interface Amounts {
  budgetCents: number;
  priceCents: number;
  /** The part of the price that a moderator, or both sides, award to the bidder. */
  bidderCents: number;
}

/** How the hold changes: what returns to the buyer's available bucket, and what is paid to the bidder. */
interface Movement {
  /** Text in the state diagram. */
  label: string;
  returnKind: "hold_release" | "dispute_refund";
  returned(amounts: Amounts): number;
  paid(amounts: Amounts): number;
}

const nothing = () => 0;

export const movements = {
  none: { label: "", returnKind: "hold_release", returned: nothing, paid: nothing },
  budget: {
    label: "the hold follows the budget",
    returnKind: "hold_release",
    returned: nothing, // `tasks.update` moves the difference itself
    paid: nothing,
  },
  returnBudget: {
    label: "the hold returns",
    returnKind: "hold_release",
    returned: ({ budgetCents }) => budgetCents,
    paid: nothing,
  },
  returnRest: {
    label: "the hold shrinks to the price",
    returnKind: "hold_release",
    returned: ({ budgetCents, priceCents }) => budgetCents - priceCents,
    paid: nothing,
  },
  returnPrice: {
    label: "the hold returns",
    returnKind: "hold_release",
    returned: ({ priceCents }) => priceCents,
    paid: nothing,
  },
  pay: {
    label: "the bidder is paid",
    returnKind: "hold_release",
    returned: nothing,
    paid: ({ priceCents }) => priceCents,
  },
  divide: {
    label: "refund, release or split",
    returnKind: "dispute_refund",
    returned: ({ priceCents, bidderCents }) => priceCents - bidderCents,
    paid: ({ bidderCents }) => bidderCents,
  },
  divideAsAgreed: {
    label: "as both agree",
    returnKind: "dispute_refund",
    returned: ({ priceCents, bidderCents }) => priceCents - bidderCents,
    paid: ({ bidderCents }) => bidderCents,
  },
} as const satisfies Record<string, Movement>;
