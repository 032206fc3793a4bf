import type Stripe from "stripe";
import { type Call, route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { metadataOf, requirePositive } from "../api/values.ts";
import { balanceOf, balanceTooLow, book } from "../model/books.ts";
import { type PayoutOutcome, payoutAmounts } from "../model/choices.ts";
import { recordEvent } from "../model/events.ts";
import { newId } from "../model/objects.ts";
import { invalidRequest } from "../model/refusal.ts";
import { type Action, later } from "../model/schedule.ts";
import { nowSeconds, type World } from "../model/world.ts";
import { bankAccountOf, requirePayouts } from "./accounts.ts";

const DAY_SECONDS = 86_400;

export const payoutCalls = [
  route("POST /v1/payouts", ["amount", "currency", "description", "metadata", "statement_descriptor"], createPayout),
  route("GET /v1/payouts", [...pageParameters, "status"], (call) => {
    const { status } = call.parameters;
    return listPage(call, "payout", "/v1/payouts", call.parameters, { status });
  }),
  route("GET /v1/payouts/:id", ["expand"], ({ world, id, owner, parameters }) =>
    expanded(world, world.store.get("payout", id, owner), parameters.expand),
  ),
  route("POST /v1/payouts/:id/cancel", [], ({ world, id, owner }) => {
    world.store.get("payout", id, owner);
    return changePayout(world, id, "canceled");
  }),
];

export const payoutActions: Record<string, Action> = {
  automaticPayout,
  payoutLeaves: (world, id) => {
    const { payout, outcome } = scheduled(world, id);
    if (payout.status !== "pending") return;
    if (outcome === "canceled") return void changePayout(world, id, "canceled");
    changePayout(world, id, "in_transit");
    if (outcome !== "never_arrives")
      later(world, world.stepMs, outcome === "fails" ? "payoutFails" : "payoutArrives", id);
  },
  payoutArrives: (world, id) => {
    const { payout, outcome } = scheduled(world, id);
    if (payout.status !== "in_transit") return;
    changePayout(world, id, "paid");
    if (outcome === "fails_after_paid") later(world, world.stepMs, "payoutFails", id);
  },
  payoutFails: (world, id) => {
    const { status } = scheduled(world, id).payout;
    if (status === "in_transit" || status === "paid") changePayout(world, id, "failed");
  },
};

function scheduled(world: World, id: string): { payout: Stripe.Payout; outcome: PayoutOutcome } {
  const owner = world.store.ownerOf(id) ?? "";
  const payout = world.store.get("payout", id, owner);
  const magic = payoutAmounts.find(({ amountCents }) => amountCents === payout.amount);
  return { payout, outcome: magic?.name ?? bankAccountOf(world, owner) };
}

/**
 * Pays out from a connected account to its bank. The amount or the bank account decides the outcome, see `choices.ts`.
 */
function createPayout({ world, parameters, owner }: Call<Stripe.PayoutCreateParams>): Stripe.Payout {
  const currency = parameters.currency.toLowerCase();
  const amountCents = requirePositive(parameters.amount);
  requirePayouts(world, owner);
  if (balanceOf(world, owner, currency) < amountCents) throw balanceTooLow("payout");
  return sendPayout(world, owner, amountCents, currency, parameters);
}

/** Pays out the whole balance, as Stripe does automatically unless the account's payout schedule is manual. */
function automaticPayout(world: World, owner: string): void {
  const amountCents = balanceOf(world, owner, "usd");
  if (amountCents > 0) sendPayout(world, owner, amountCents, "usd", null);
}

function sendPayout(
  world: World,
  owner: string,
  amountCents: number,
  currency: string,
  request: Pick<Stripe.PayoutCreateParams, "description" | "metadata" | "statement_descriptor"> | null,
): Stripe.Payout {
  const now = nowSeconds(world);
  const id = newId("po");
  const payout: Stripe.Payout = {
    id,
    object: "payout",
    amount: amountCents,
    application_fee: null,
    application_fee_amount: null,
    arrival_date: now + 2 * DAY_SECONDS,
    automatic: request === null,
    balance_transaction: book(world, { owner, type: "payout", amountCents: -amountCents, currency, source: id }),
    created: now,
    currency,
    description: request?.description ?? null,
    destination: `ba_${bankAccountOf(world, owner)}`,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: metadataOf(request?.metadata),
    method: "standard",
    original_payout: null,
    payout_method: null,
    reconciliation_status: "not_applicable",
    reversed_by: null,
    source_type: "card",
    statement_descriptor: request?.statement_descriptor ?? null,
    status: "pending",
    trace_id: null,
    type: "bank_account",
  };
  world.store.insert(owner, payout);
  recordEvent(world, "payout.created", payout, owner);
  later(world, world.stepMs, "payoutLeaves", id);
  return payout;
}

type PayoutStatus = "in_transit" | "paid" | "failed" | "canceled";

// A payout that was reported as paid can still fail. All other final states are final.
const possibleFrom: Record<PayoutStatus, string[]> = {
  in_transit: ["pending"],
  paid: ["pending", "in_transit"],
  failed: ["pending", "in_transit", "paid"],
  canceled: ["pending"],
};

/** Whether the payout's state allows a change to this status. */
export function canBecome(payout: Stripe.Payout, status: PayoutStatus): boolean {
  return possibleFrom[status].includes(payout.status);
}

/** Changes a payout's status. If it fails or is canceled, the money returns to the account's balance. */
export function changePayout(world: World, id: string, status: PayoutStatus): Stripe.Payout {
  const owner = world.store.ownerOf(id) ?? "";
  const payout = world.store.get("payout", id, owner);
  if (!canBecome(payout, status)) {
    throw invalidRequest("resource_invalid_state", `A payout that is ${payout.status} cannot become ${status}.`);
  }
  const { amount: amountCents, currency } = payout;
  const returned = (type: string) => ({
    failure_balance_transaction: book(world, { owner, type, amountCents, currency, source: id }),
  });
  const failure = { failure_code: "account_closed", failure_message: "The bank account has been closed." };
  const changed: Stripe.Payout = {
    ...payout,
    status,
    ...(status === "failed" ? { ...returned("payout_failure"), ...failure } : {}),
    ...(status === "canceled" ? returned("payout_cancel") : {}),
  };
  world.store.update(changed);
  recordEvent(world, status === "in_transit" ? "payout.updated" : `payout.${status}`, changed, owner);
  return changed;
}
