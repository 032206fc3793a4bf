/**
 * Everything that can be chosen by name, with what it does. The pages show these tables, the `/test` API takes their
 * names, and the project's README prints them.
 */

export interface Choice {
  name: string;
  description: string;
}

/** How a checkout ends. The card number is another way to choose: Stripe's own test cards, typed into the page. */
export const checkoutOutcomes = [
  { name: "pays", card: "4242 4242 4242 4242", description: "The card is charged at once." },
  { name: "declined", card: "4000 0000 0000 0002", description: "The card is declined; the page stays open." },
  { name: "pays_later", card: "4000 0000 0000 3220", description: "A slow payment method: completed now, paid later." },
  { name: "pays_later_fails", card: "4000 0000 0000 0341", description: "A slow payment method that fails later." },
  { name: "disputed", card: "4000 0000 0000 0259", description: "Paid, then disputed; the money is withdrawn." },
  { name: "disputed_won", card: "4000 0000 0000 2685", description: "Paid, disputed, and the dispute is won." },
  { name: "disputed_lost", card: "4000 0000 0000 1976", description: "Paid, disputed, and the dispute is lost." },
  { name: "refunded", card: "4000 0000 0000 5126", description: "Paid, then refunded in full." },
  { name: "refunded_half", card: "4000 0000 0000 7726", description: "Paid, then half of it is refunded." },
] as const;
export type CheckoutOutcome = (typeof checkoutOutcomes)[number]["name"];

/** How a person leaves the onboarding page. */
export const onboardingOutcomes = [
  { name: "finishes", description: "Everything is given and checked: transfers and payouts become active." },
  { name: "leaves", description: "Leaves half way: something was entered, much is missing." },
  {
    name: "stays_incomplete",
    description: "Finishes, but the details cannot be verified: restricted until it is done again.",
  },
] as const;
export type OnboardingOutcome = (typeof onboardingOutcomes)[number]["name"];

/** What a payout does, by the bank account that was given in onboarding. */
export const bankAccounts = [
  { name: "pays", description: "Payouts arrive." },
  { name: "fails", description: "Payouts fail on their way: the bank account is closed." },
  { name: "fails_after_paid", description: "Payouts are reported as paid, then fail." },
  { name: "never_arrives", description: "Payouts stay in transit until the test API ends them." },
] as const;
export type BankAccount = (typeof bankAccounts)[number]["name"];

/** Payouts of exactly these amounts do something else than their bank account says. */
export const payoutAmounts = [
  { amountCents: 1313, name: "fails", description: "Fails on its way." },
  { amountCents: 1314, name: "fails_after_paid", description: "Is reported as paid, then fails." },
  { amountCents: 1315, name: "never_arrives", description: "Stays in transit until the test API ends it." },
  { amountCents: 1316, name: "canceled", description: "Is canceled before it leaves." },
] as const;
export type PayoutOutcome = BankAccount | (typeof payoutAmounts)[number]["name"];

/** What can be made to go wrong with an API call (`POST /test/faults`). */
export const callFaults = [
  { name: "timeout_before", description: "No answer, and nothing is done." },
  { name: "timeout_after", description: "The work is done, but no answer comes." },
  { name: "reset_before", description: "The connection is reset, and nothing is done." },
  { name: "reset_after", description: "The work is done, then the connection is reset." },
  { name: "conflict", description: "409: a request with this idempotency key is said to be in progress." },
  { name: "rate_limit", description: "429: too many requests." },
  { name: "no_permission", description: "403: the key is said to lack a permission." },
  { name: "server_error", description: "500, and nothing is done." },
  {
    name: "server_error_after",
    description: "The work is done, but the answer is 500; a repetition gets the true one.",
  },
] as const;
export type CallFault = (typeof callFaults)[number]["name"];

/** What can be made to go wrong with the events that are sent out. */
export const eventFaults = [
  { name: "event_duplicate", description: "The event is sent twice." },
  { name: "event_shuffle", description: "The event is held back, so that later ones overtake it." },
  { name: "event_delay", description: "The event comes 5 seconds late." },
  { name: "event_drop", description: "The event is never sent; the API still lists it." },
] as const;
export type EventFault = (typeof eventFaults)[number]["name"];
