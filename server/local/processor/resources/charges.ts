import type Stripe from "stripe";
import { route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { book } from "../model/books.ts";
import { recordEvent } from "../model/events.ts";
import { newId, platform } from "../model/objects.ts";
import { nowSeconds, type World } from "../model/world.ts";
import { initialCharge, initialPaymentIntent } from "./initialValues.ts";

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

/** The id of a session's payment intent. As at Stripe, the session contains it only after an attempt to pay. */
function paymentIntentId(session: Stripe.Checkout.Session): string {
  return session.id.replace("cs_test", "pi");
}

/** Creates the payment intent of a new session. */
export function openPaymentIntent(world: World, session: Stripe.Checkout.Session, metadata: Stripe.Metadata): void {
  world.store.insert(platform, {
    ...initialPaymentIntent,
    id: paymentIntentId(session),
    amount: session.amount_total ?? 0,
    created: session.created,
    currency: session.currency ?? "",
    metadata,
  });
}

/** Charges the session's amount to a card. Only "succeeded" moves money; a pending charge is settled later. */
export function chargeCard(
  world: World,
  session: Stripe.Checkout.Session,
  result: "succeeded" | "pending" | "failed",
): Stripe.Charge & { payment_intent: string } {
  const intent = world.store.get("payment_intent", paymentIntentId(session));
  const charge = {
    ...initialCharge,
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

/** Settles the latest charge of a payment intent, and books the money if it succeeded. */
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
