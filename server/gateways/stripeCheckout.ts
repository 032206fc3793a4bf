import type Stripe from "stripe";
import type { Processor } from "./processor.ts";
import { collected, records, translated } from "./stripeCalls.ts";
import { checkoutSession, disputeRecord, refundRecord } from "./stripeRecords.ts";

type CheckoutCalls = Pick<
  Processor,
  | "createCheckoutSession"
  | "getCheckoutSession"
  | "expireCheckoutSession"
  | "findCheckoutSession"
  | "findRefunds"
  | "findDisputes"
  | "listCheckoutPayments"
>;

/** Payments into the platform: checkout sessions, with their refunds and disputes. */
export function checkoutCalls(stripe: Stripe): CheckoutCalls {
  return {
    async createCheckoutSession(input) {
      const { idempotencyKey } = input;
      const session = stripe.checkout.sessions.create(sessionParameters(input), { idempotencyKey });
      return checkoutSession(await translated(session));
    },

    async getCheckoutSession(sessionId) {
      const session = stripe.checkout.sessions.retrieve(sessionId, { expand: ["payment_intent"] });
      return checkoutSession(await translated(session));
    },

    async expireCheckoutSession({ sessionId, idempotencyKey }) {
      const session = stripe.checkout.sessions.expire(sessionId, {}, { idempotencyKey });
      return checkoutSession(await translated(session));
    },

    async findCheckoutSession(paymentIntentId) {
      const sessions = stripe.checkout.sessions.list({ payment_intent: paymentIntentId, limit: 1 });
      const [session] = (await translated(sessions)).data;
      return session === undefined ? null : checkoutSession(session);
    },

    async findRefunds(paymentIntentId) {
      return await collected(stripe.refunds.list({ payment_intent: paymentIntentId, limit: 100 }), refundRecord);
    },

    async findDisputes(paymentIntentId) {
      return await collected(stripe.disputes.list({ payment_intent: paymentIntentId, limit: 100 }), disputeRecord);
    },

    async *listCheckoutPayments(createdSince) {
      const sessions = stripe.checkout.sessions.list({
        created: { gte: createdSince },
        status: "complete",
        limit: 100,
      });
      for await (const session of records(sessions, checkoutSession)) {
        if (session.paymentStatus === "paid") yield session;
      }
    },
  };
}

function sessionParameters(
  input: Parameters<Processor["createCheckoutSession"]>[0],
): Stripe.Checkout.SessionCreateParams {
  const metadata = { topupId: input.topupId, userId: input.userId };
  const product_data = { name: "Rebid wallet top-up" };
  return {
    mode: "payment",
    client_reference_id: input.topupId,
    metadata,
    payment_intent_data: { metadata },
    line_items: [
      { quantity: 1, price_data: { currency: input.currency, unit_amount: input.amountCents, product_data } },
    ],
    success_url: input.successUrl,
    cancel_url: input.cancelUrl,
  };
}
