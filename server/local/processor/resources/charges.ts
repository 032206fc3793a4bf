import type Stripe from "stripe";
import { book } from "../model/books.ts";
import { route } from "../api/call.ts";
import { recordEvent } from "../model/events.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { newId, platform } from "../model/store.ts";
import { nowSeconds, type World } from "../model/world.ts";

export const chargeCalls = [
  route("GET /v1/payment_intents", pageParameters, (call) =>
    listPage(call, "payment_intent", "/v1/payment_intents", call.parameters),
  ),
  route("GET /v1/payment_intents/:id", ["expand"], ({ world, id, parameters }) =>
    expanded(world, world.store.get("payment_intent", id), parameters.expand),
  ),
  route("GET /v1/charges", [...pageParameters, "payment_intent", "transfer_group"], (call) => {
    const { payment_intent, transfer_group } = call.parameters;
    return listPage(call, "charge", "/v1/charges", call.parameters, { payment_intent, transfer_group });
  }),
  route("GET /v1/charges/:id", ["expand"], ({ world, id, parameters }) =>
    expanded(world, world.store.get("charge", id), parameters.expand),
  ),
];

/** A session's payment intent. The session names it only once somebody tried to pay, as at Stripe. */
function paymentIntentId(session: Stripe.Checkout.Session): string {
  return session.id.replace("cs_test", "pi");
}

export function openPaymentIntent(world: World, session: Stripe.Checkout.Session, metadata: Stripe.Metadata): void {
  world.store.insert(platform, {
    ...emptyPaymentIntent,
    id: paymentIntentId(session),
    amount: session.amount_total ?? 0,
    created: session.created,
    currency: session.currency ?? "",
    metadata,
  });
}

/** Tries to take the session's amount from a card. Only "succeeded" moves money; "pending" is settled later. */
export function chargeCard(
  world: World,
  session: Stripe.Checkout.Session,
  result: "succeeded" | "pending" | "failed",
): Stripe.Charge & { payment_intent: string } {
  const intent = world.store.get("payment_intent", paymentIntentId(session));
  const charge = {
    ...emptyCharge,
    id: newId("ch"),
    amount: intent.amount,
    created: nowSeconds(world),
    currency: intent.currency,
    metadata: intent.metadata,
    payment_intent: intent.id,
    transfer_group: intent.transfer_group,
  };
  world.store.insert(platform, charge);
  world.store.update({
    ...intent,
    latest_charge: charge.id,
    status: result === "pending" ? "processing" : intent.status,
  });
  if (result !== "pending") settleCharge(world, intent.id, result);
  return charge;
}

/** Ends the latest charge of a payment intent, and books the money when it succeeded. */
export function settleCharge(world: World, intentId: string, result: "succeeded" | "failed"): void {
  const intent = world.store.get("payment_intent", intentId);
  const charge = world.store.get("charge", String(intent.latest_charge));
  const settled = result === "succeeded" ? takeMoney(world, charge) : decline(charge);
  world.store.update(settled);
  const ended: Stripe.PaymentIntent = {
    ...intent,
    amount_received: result === "succeeded" ? intent.amount : 0,
    status: result === "succeeded" ? "succeeded" : "requires_payment_method",
  };
  world.store.update(ended);
  recordEvent(world, `charge.${result}`, settled);
  recordEvent(world, result === "succeeded" ? "payment_intent.succeeded" : "payment_intent.payment_failed", ended);
}

function takeMoney(world: World, charge: Stripe.Charge): Stripe.Charge {
  const { amount: amountCents, currency, id: source } = charge;
  return {
    ...charge,
    amount_captured: amountCents,
    balance_transaction: book(world, { type: "charge", amountCents, currency, source }),
    captured: true,
    paid: true,
    status: "succeeded",
  };
}

function decline(charge: Stripe.Charge): Stripe.Charge {
  return { ...charge, failure_code: "card_declined", failure_message: "Your card was declined.", status: "failed" };
}

const emptyPaymentIntent = {
  object: "payment_intent",
  allowed_payment_method_types: null,
  amount_capturable: 0,
  amount_received: 0,
  application: null,
  application_fee_amount: null,
  automatic_payment_methods: null,
  canceled_at: null,
  cancellation_reason: null,
  capture_method: "automatic_async",
  client_secret: null,
  confirmation_method: "automatic",
  customer: null,
  customer_account: null,
  description: null,
  excluded_payment_method_types: null,
  last_payment_error: null,
  latest_charge: null,
  livemode: false,
  managed_payments: null,
  next_action: null,
  on_behalf_of: null,
  payment_method: null,
  payment_method_configuration_details: null,
  payment_method_options: null,
  payment_method_types: ["card"],
  payment_record: null,
  processing: null,
  receipt_email: null,
  review: null,
  setup_future_usage: null,
  shipping: null,
  source: null,
  statement_descriptor: null,
  statement_descriptor_suffix: null,
  status: "requires_payment_method",
  transfer_group: null,
} satisfies Partial<Stripe.PaymentIntent>;

const emptyCharge = {
  object: "charge",
  amount_captured: 0,
  amount_refunded: 0,
  application: null,
  application_fee: null,
  application_fee_amount: null,
  balance_transaction: null,
  billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
  calculated_statement_descriptor: "REBID",
  captured: false,
  customer: null,
  description: null,
  disputed: false,
  failure_balance_transaction: null,
  failure_code: null,
  failure_message: null,
  fraud_details: {},
  livemode: false,
  on_behalf_of: null,
  outcome: null,
  paid: false,
  payment_method: null,
  payment_method_details: null,
  receipt_email: null,
  receipt_number: null,
  receipt_url: null,
  refunded: false,
  review: null,
  shipping: null,
  source: null,
  source_transfer: null,
  statement_descriptor: null,
  statement_descriptor_suffix: null,
  status: "pending",
  transfer_data: null,
} satisfies Partial<Stripe.Charge>;
