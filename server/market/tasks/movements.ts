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
  /** Who has chosen what is paid, if that is only a part of the price: the fee depends on it. */
  part: "agreed" | "decided";
}

const nothing = () => 0;

export const movements = {
  none: { label: "", returnKind: "hold_release", returned: nothing, paid: nothing, part: "agreed" },
  budget: {
    label: "the hold follows the budget",
    returnKind: "hold_release",
    returned: nothing, // `tasks.update` moves the difference itself
    paid: nothing,
    part: "agreed",
  },
  returnBudget: {
    label: "the hold returns",
    returnKind: "hold_release",
    returned: ({ budgetCents }) => budgetCents,
    paid: nothing,
    part: "agreed",
  },
  returnRest: {
    label: "the hold shrinks to the price",
    returnKind: "hold_release",
    returned: ({ budgetCents, priceCents }) => budgetCents - priceCents,
    paid: nothing,
    part: "agreed",
  },
  returnPrice: {
    label: "the hold returns",
    returnKind: "hold_release",
    returned: ({ priceCents }) => priceCents,
    paid: nothing,
    part: "agreed",
  },
  pay: {
    label: "the bidder is paid",
    returnKind: "hold_release",
    returned: nothing,
    paid: ({ priceCents }) => priceCents,
    part: "agreed",
  },
  divide: {
    label: "refund, release or split",
    returnKind: "dispute_refund",
    returned: ({ priceCents, bidderCents }) => priceCents - bidderCents,
    paid: ({ bidderCents }) => bidderCents,
    part: "decided",
  },
  divideAsAgreed: {
    label: "as both agree",
    returnKind: "dispute_refund",
    returned: ({ priceCents, bidderCents }) => priceCents - bidderCents,
    paid: ({ bidderCents }) => bidderCents,
    part: "agreed",
  },
} as const satisfies Record<string, Movement>;
