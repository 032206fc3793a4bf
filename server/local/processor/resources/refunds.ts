import type Stripe from "stripe";
import { type Call, route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { metadataOf, requirePositive } from "../api/values.ts";
import { book } from "../model/books.ts";
import { recordEvent } from "../model/events.ts";
import { newId, platform } from "../model/objects.ts";
import { invalidRequest } from "../model/refusal.ts";
import type { Action } from "../model/schedule.ts";
import { nowSeconds, type World } from "../model/world.ts";

export const refundCalls = [
  route("POST /v1/refunds", ["charge", "payment_intent", "amount", "reason", "metadata"], createRefund),
  route("GET /v1/refunds", [...pageParameters, "charge", "payment_intent"], (call) => {
    const { charge, payment_intent } = call.parameters;
    return listPage(call, "refund", "/v1/refunds", call.parameters, { charge, payment_intent });
  }),
  route("GET /v1/refunds/:id", ["expand"], ({ world, id, parameters }) =>
    expanded(world, world.store.get("refund", id), parameters.expand),
  ),
];

export const refundActions: Record<string, Action> = {
  refundAll: (world, id) => void refund(world, id),
  refundHalf: (world, id) => void refund(world, id, Math.floor(world.store.get("charge", id).amount / 2)),
};

function createRefund({ world, parameters }: Call<Stripe.RefundCreateParams>): Stripe.Refund {
  const { charge, payment_intent, amount, reason, metadata } = parameters;
  const id = charge ?? latestCharge(world, payment_intent);
  if (id === null)
    throw invalidRequest(
      "parameter_missing",
      "One of the following params should be provided: charge, payment_intent.",
    );
  return refund(world, id, amount, { reason: reason ?? null, metadata: metadataOf(metadata) });
}

function latestCharge(world: World, intentId: string | undefined): string | null {
  if (intentId === undefined) return null;
  const { latest_charge: charge } = world.store.get("payment_intent", intentId);
  return typeof charge === "string" ? charge : null;
}

/** Refunds a charge to the card: `amount` cents or, by default, all that has not been refunded yet. */
export function refund(
  world: World,
  chargeId: string,
  amount?: number,
  details: Pick<Stripe.Refund, "reason" | "metadata"> = { reason: null, metadata: {} },
): Stripe.Refund {
  const charge = world.store.get("charge", chargeId);
  if (charge.status !== "succeeded") throw invalidRequest("charge_not_refundable", "This charge has not succeeded.");
  if (charge.disputed)
    throw invalidRequest("charge_disputed", `Charge ${charge.id} has been charged back; cannot issue a refund.`);
  const left = charge.amount - charge.amount_refunded;
  if (left === 0) throw invalidRequest("charge_already_refunded", `Charge ${charge.id} has already been refunded.`);
  const amountCents = requirePositive(amount ?? left);
  if (amountCents > left) {
    throw invalidRequest(
      "amount_too_large",
      `Refund amount (${amountCents}) is greater than what is left (${left}).`,
      "amount",
    );
  }
  const id = newId("re");
  const { currency } = charge;
  const made: Stripe.Refund = {
    id,
    object: "refund",
    amount: amountCents,
    balance_transaction: book(world, { type: "refund", amountCents: -amountCents, currency, source: id }),
    charge: charge.id,
    created: nowSeconds(world),
    currency,
    customer: null,
    customer_account: null,
    metadata: details.metadata,
    payment_intent: charge.payment_intent,
    payment_method: null,
    reason: details.reason,
    receipt_number: null,
    source_transfer_reversal: null,
    status: "succeeded",
    transfer_reversal: null,
  };
  world.store.insert(platform, made);
  const refunded = charge.amount_refunded + amountCents;
  const changed: Stripe.Charge = { ...charge, amount_refunded: refunded, refunded: refunded === charge.amount };
  world.store.update(changed);
  recordEvent(world, "refund.created", made);
  recordEvent(world, "charge.refunded", changed);
  return made;
}

/** Fails a refund, as if the bank had returned it: the money goes back to the platform. */
export function failRefund(world: World, id: string): Stripe.Refund {
  const made = world.store.get("refund", id);
  if (made.status !== "succeeded") throw invalidRequest("resource_invalid_state", `This refund is ${made.status}.`);
  const { amount: amountCents, currency } = made;
  const failed: Stripe.Refund = {
    ...made,
    failure_balance_transaction: book(world, { type: "refund_failure", amountCents, currency, source: id }),
    failure_reason: "lost_or_stolen_card",
    status: "failed",
  };
  world.store.update(failed);
  const charge = world.store.get("charge", String(made.charge));
  world.store.update({ ...charge, amount_refunded: charge.amount_refunded - amountCents, refunded: false });
  recordEvent(world, "refund.updated", failed);
  recordEvent(world, "refund.failed", failed);
  return failed;
}
