import type { Processor, ProcessorSettings } from "./processor.ts";

/** The payment processor at Stripe, or at what serves its API. The first call loads the `stripe` package, which no start needs. */
export function stripeProcessor(settings: ProcessorSettings): Processor {
  let opened: Processor | undefined;
  const stripe = async () => {
    if (opened === undefined) {
      const { openStripe } = await import("./stripeGateway.ts");
      opened ??= openStripe(settings);
    }
    return opened;
  };
  return {
    createCheckoutSession: async (...input) => (await stripe()).createCheckoutSession(...input),
    getCheckoutSession: async (...input) => (await stripe()).getCheckoutSession(...input),
    expireCheckoutSession: async (...input) => (await stripe()).expireCheckoutSession(...input),
    findCheckoutSession: async (...input) => (await stripe()).findCheckoutSession(...input),
    findRefunds: async (...input) => (await stripe()).findRefunds(...input),
    findDisputes: async (...input) => (await stripe()).findDisputes(...input),
    createAccount: async (...input) => (await stripe()).createAccount(...input),
    findAccount: async (...input) => (await stripe()).findAccount(...input),
    stopAutomaticPayouts: async (...input) => (await stripe()).stopAutomaticPayouts(...input),
    createOnboardingLink: async (...input) => (await stripe()).createOnboardingLink(...input),
    getAccount: async (...input) => (await stripe()).getAccount(...input),
    createTransfer: async (...input) => (await stripe()).createTransfer(...input),
    findTransfers: async (...input) => (await stripe()).findTransfers(...input),
    reverseTransfer: async (...input) => (await stripe()).reverseTransfer(...input),
    createPayout: async (...input) => (await stripe()).createPayout(...input),
    getPayout: async (...input) => (await stripe()).getPayout(...input),
    findPayouts: async (...input) => (await stripe()).findPayouts(...input),
    getTotalCents: async (...input) => (await stripe()).getTotalCents(...input),
    getBalanceCents: async (...input) => (await stripe()).getBalanceCents(...input),
    async *listEvents(...input) {
      yield* (await stripe()).listEvents(...input);
    },
    async *listEventDestinations(...input) {
      yield* (await stripe()).listEventDestinations(...input);
    },
    async *listCheckoutPayments(...input) {
      yield* (await stripe()).listCheckoutPayments(...input);
    },
    async *listTransfers(...input) {
      yield* (await stripe()).listTransfers(...input);
    },
    async *listPayouts(...input) {
      yield* (await stripe()).listPayouts(...input);
    },
    async *listBalanceTransactions(...input) {
      yield* (await stripe()).listBalanceTransactions(...input);
    },
    verifyEvent: async (...input) => (await stripe()).verifyEvent(...input),
  };
}
