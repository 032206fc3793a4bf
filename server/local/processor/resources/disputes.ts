import type Stripe from "stripe";
import { route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { book } from "../model/books.ts";
import { recordEvent } from "../model/events.ts";
import { newId, platform } from "../model/objects.ts";
import { invalidRequest } from "../model/refusal.ts";
import { type Action, later } from "../model/schedule.ts";
import { nowSeconds, type World } from "../model/world.ts";
import { initialDispute } from "./initialValues.ts";

const DAY_SECONDS = 86_400;

export const disputeCalls = [
  route("GET /v1/disputes", [...pageParameters, "charge", "payment_intent"], (call) => {
    const { charge, payment_intent } = call.parameters;
    return listPage(call, "dispute", "/v1/disputes", call.parameters, { charge, payment_intent });
  }),
  route("GET /v1/disputes/:id", ["expand"], ({ world, id, parameters }) =>
    expanded(world, world.store.get("dispute", id), parameters.expand),
  ),
  // Closing a dispute yourself means accepting it.
  route("POST /v1/disputes/:id/close", [], ({ world, id }) => closeDispute(world, id, "lost")),
];

export const disputeActions: Record<string, Action> = {
  disputed: (world, chargeId) => void openDispute(world, chargeId),
  disputed_won: (world, chargeId) => later(world, world.stepMs, "winDispute", openDispute(world, chargeId).id),
  disputed_lost: (world, chargeId) => later(world, world.stepMs, "loseDispute", openDispute(world, chargeId).id),
  winDispute: (world, id) => void closeIfOpen(world, id, "won"),
  loseDispute: (world, id) => void closeIfOpen(world, id, "lost"),
};

/** Disputes a charge. The money leaves the platform's balance immediately. */
export function openDispute(world: World, chargeId: string): Stripe.Dispute {
  const charge = world.store.get("charge", chargeId);
  if (charge.status !== "succeeded" || charge.disputed) {
    throw invalidRequest("resource_invalid_state", "Only a succeeded charge without a dispute can be disputed.");
  }
  const id = newId("dp");
  const amountCents = charge.amount - charge.amount_refunded;
  const dispute: Stripe.Dispute = {
    ...initialDispute,
    id,
    amount: amountCents,
    balance_transactions: [move(world, id, charge.currency, -amountCents)],
    charge: charge.id,
    created: nowSeconds(world),
    currency: charge.currency,
    evidence_details: { ...initialDispute.evidence_details, due_by: nowSeconds(world) + 7 * DAY_SECONDS },
    payment_intent: charge.payment_intent,
  };
  world.store.insert(platform, dispute);
  world.store.update({ ...charge, disputed: true });
  recordEvent(world, "charge.dispute.created", dispute);
  recordEvent(world, "charge.dispute.funds_withdrawn", dispute);
  return dispute;
}

/** Closes a dispute. If it is won, the money returns to the platform; if it is lost, the cardholder keeps it. */
export function closeDispute(world: World, id: string, result: "won" | "lost"): Stripe.Dispute {
  const dispute = world.store.get("dispute", id);
  if (dispute.status !== "needs_response") {
    throw invalidRequest("resource_invalid_state", `This dispute is already closed: ${dispute.status}.`);
  }
  const { amount, currency, balance_transactions: earlier } = dispute;
  const returned = result === "won" ? [move(world, id, currency, amount)] : [];
  const closed: Stripe.Dispute = { ...dispute, balance_transactions: [...earlier, ...returned], status: result };
  world.store.update(closed);
  if (result === "won") recordEvent(world, "charge.dispute.funds_reinstated", closed);
  recordEvent(world, "charge.dispute.closed", closed);
  return closed;
}

function closeIfOpen(world: World, id: string, result: "won" | "lost"): void {
  if (world.store.get("dispute", id).status === "needs_response") closeDispute(world, id, result);
}

function move(world: World, source: string, currency: string, amountCents: number): Stripe.BalanceTransaction {
  return world.store.get("balance_transaction", book(world, { type: "adjustment", amountCents, currency, source }));
}
