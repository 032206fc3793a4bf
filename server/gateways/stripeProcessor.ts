import { onFirstUse } from "../onFirstUse.ts";
import type { Processor, ProcessorSettings } from "./processor.ts";

/** The payment processor at Stripe, or at what serves its API. The `stripe` package is loaded by the first call. */
export function stripeProcessor(settings: ProcessorSettings): Processor {
  const { method, list } = onFirstUse(async () => (await import("./stripeGateway.ts")).openStripe(settings));
  return {
    createCheckoutSession: method((stripe) => stripe.createCheckoutSession),
    getCheckoutSession: method((stripe) => stripe.getCheckoutSession),
    expireCheckoutSession: method((stripe) => stripe.expireCheckoutSession),
    findCheckoutSession: method((stripe) => stripe.findCheckoutSession),
    findRefunds: method((stripe) => stripe.findRefunds),
    findDisputes: method((stripe) => stripe.findDisputes),
    createAccount: method((stripe) => stripe.createAccount),
    findAccount: method((stripe) => stripe.findAccount),
    stopAutomaticPayouts: method((stripe) => stripe.stopAutomaticPayouts),
    createOnboardingLink: method((stripe) => stripe.createOnboardingLink),
    getAccount: method((stripe) => stripe.getAccount),
    createTransfer: method((stripe) => stripe.createTransfer),
    findTransfers: method((stripe) => stripe.findTransfers),
    reverseTransfer: method((stripe) => stripe.reverseTransfer),
    createPayout: method((stripe) => stripe.createPayout),
    getPayout: method((stripe) => stripe.getPayout),
    findPayouts: method((stripe) => stripe.findPayouts),
    getBalanceCents: method((stripe) => stripe.getBalanceCents),
    listEvents: list((stripe) => stripe.listEvents),
    listEventDestinations: list((stripe) => stripe.listEventDestinations),
    listCheckoutPayments: list((stripe) => stripe.listCheckoutPayments),
    listTransfers: list((stripe) => stripe.listTransfers),
    listPayouts: list((stripe) => stripe.listPayouts),
    listBalanceTransactions: list((stripe) => stripe.listBalanceTransactions),
    verifyEvent: method((stripe) => stripe.verifyEvent),
  };
}
