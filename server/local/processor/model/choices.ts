/**
 * Every behaviour that can be chosen by name. The pages show these tables, the `/test` API accepts the names, and the
 * guide for testing lists them.
 */

export interface Choice {
  name: string;
  description: string;
}

/** How a checkout ends. Entering one of Stripe's test cards on the page chooses its outcome. */
export const checkoutOutcomes = [
  { name: "pays", card: "4242 4242 4242 4242", description: "The card is charged immediately." },
  { name: "declined", card: "4000 0000 0000 0002", description: "The card is declined; the page stays open." },
  {
    name: "pays_later",
    card: "4000 0000 0000 3220",
    description: "A delayed payment method: the session completes now and is paid later.",
  },
  {
    name: "pays_later_fails",
    card: "4000 0000 0000 0341",
    description: "A delayed payment method: the session completes now and the payment fails later.",
  },
  { name: "disputed", card: "4000 0000 0000 0259", description: "Paid, then disputed; the money is withdrawn." },
  { name: "disputed_won", card: "4000 0000 0000 2685", description: "Paid, disputed, and the dispute is won." },
  { name: "disputed_lost", card: "4000 0000 0000 1976", description: "Paid, disputed, and the dispute is lost." },
  { name: "refunded", card: "4000 0000 0000 5126", description: "Paid, then refunded in full." },
  { name: "refunded_half", card: "4000 0000 0000 7726", description: "Paid, then half of it is refunded." },
] as const;
export type CheckoutOutcome = (typeof checkoutOutcomes)[number]["name"];

/** How a person leaves the onboarding page. */
export const onboardingOutcomes = [
  { name: "finishes", description: "All details are entered and verified: transfers and payouts become active." },
  { name: "leaves", description: "Leaves halfway: some details are still missing." },
  {
    name: "stays_incomplete",
    description: "Finishes, but the details cannot be verified: restricted until onboarding is repeated.",
  },
] as const;
export type OnboardingOutcome = (typeof onboardingOutcomes)[number]["name"];

/** The bank accounts that can be chosen in onboarding, and what happens to payouts to them. */
export const bankAccounts = [
  { name: "pays", description: "Payouts arrive." },
  { name: "fails", description: "Payouts fail in transit: the bank account is closed." },
  { name: "fails_after_paid", description: "Payouts are reported as paid, then fail." },
  { name: "never_arrives", description: "Payouts stay in transit until the test API ends them." },
] as const;
export type BankAccount = (typeof bankAccounts)[number]["name"];

/** Payouts of exactly these amounts ignore the bank account's behaviour. */
export const payoutAmounts = [
  { amountCents: 1313, name: "fails", description: "Fails in transit." },
  { amountCents: 1314, name: "fails_after_paid", description: "Is reported as paid, then fails." },
  { amountCents: 1315, name: "never_arrives", description: "Stays in transit until the test API ends it." },
  { amountCents: 1316, name: "canceled", description: "Is canceled before it is sent." },
] as const;
export type PayoutOutcome = BankAccount | (typeof payoutAmounts)[number]["name"];

/** Faults of API calls (`POST /test/faults`). */
export const callFaults = [
  { name: "timeout_before", description: "The request is not executed and gets no response." },
  { name: "timeout_after", description: "The request is executed but gets no response." },
  { name: "reset_before", description: "The request is not executed and the connection is reset." },
  { name: "reset_after", description: "The request is executed, then the connection is reset." },
  { name: "conflict", description: "409, as if another request with this idempotency key were in progress." },
  { name: "rate_limit", description: "429: too many requests." },
  { name: "no_permission", description: "403, as if the API key lacked a permission." },
  { name: "server_error", description: "500, and the request is not executed." },
  {
    name: "server_error_after",
    description: "The request is executed, but the response is 500; a retry gets the real one.",
  },
] as const;
export type CallFault = (typeof callFaults)[number]["name"];

/** Faults of outgoing events (`POST /test/faults`). */
export const eventFaults = [
  { name: "event_duplicate", description: "The event is sent twice." },
  { name: "event_shuffle", description: "The event is held back so that later ones overtake it." },
  { name: "event_delay", description: "The event is sent 5 seconds late." },
  { name: "event_drop", description: "The event is never sent; the API still lists it." },
] as const;
export type EventFault = (typeof eventFaults)[number]["name"];
