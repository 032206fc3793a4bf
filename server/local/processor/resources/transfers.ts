import type Stripe from "stripe";
import { type Call, route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { metadataOf, requirePositive } from "../api/values.ts";
import { balanceOf, balanceTooLow, book } from "../model/books.ts";
import { recordEvent } from "../model/events.ts";
import { newId, platform } from "../model/objects.ts";
import { invalidRequest } from "../model/refusal.ts";
import { later } from "../model/schedule.ts";
import { requireTransfers } from "./accounts.ts";
import { paysOutAutomatically } from "./balanceSettings.ts";

const transferParameters = ["amount", "currency", "destination", "description", "metadata", "transfer_group"] as const;

export const transferCalls = [
  route("POST /v1/transfers", transferParameters, createTransfer),
  route("GET /v1/transfers", [...pageParameters, "destination", "transfer_group"], (call) => {
    const { destination, transfer_group } = call.parameters;
    return listPage(call, "transfer", "/v1/transfers", call.parameters, { destination, transfer_group });
  }),
  route("GET /v1/transfers/:id", ["expand"], ({ world, id, parameters }) =>
    expanded(world, world.store.get("transfer", id), parameters.expand),
  ),
  route("POST /v1/transfers/:id/reversals", ["amount", "metadata"], createReversal),
  route("GET /v1/transfers/:id/reversals", ["limit", "starting_after", "ending_before", "expand"], (call) => {
    const transfer = call.world.store.get("transfer", call.id);
    return listPage(call, "transfer_reversal", transfer.reversals.url, call.parameters, { transfer: transfer.id });
  }),
];

/** Transfers money from the platform to a connected account. The platform's balance must cover the amount. */
function createTransfer({ world, parameters, now }: Call<Stripe.TransferCreateParams>): Stripe.Transfer {
  const { destination, description, metadata, transfer_group } = parameters;
  const currency = parameters.currency.toLowerCase();
  const amountCents = requirePositive(parameters.amount);
  requireTransfers(world, destination);
  if (balanceOf(world, platform, currency) < amountCents) throw balanceTooLow("transfer");
  const id = newId("tr");
  const destinationPayment = newId("py");
  const transfer: Stripe.Transfer = {
    id,
    object: "transfer",
    amount: amountCents,
    amount_reversed: 0,
    balance_transaction: book(world, { type: "transfer", amountCents: -amountCents, currency, source: id }),
    created: now,
    currency,
    description: description ?? null,
    destination,
    destination_payment: destinationPayment,
    livemode: false,
    metadata: metadataOf(metadata),
    reversals: { object: "list", data: [], has_more: false, url: `/v1/transfers/${id}/reversals` },
    reversed: false,
    source_transaction: null,
    source_type: "card",
    transfer_group: transfer_group ?? null,
  };
  book(world, { owner: destination, type: "payment", amountCents, currency, source: destinationPayment });
  world.store.insert(platform, transfer);
  if (paysOutAutomatically(world, destination)) later(world, world.stepMs, "automaticPayout", destination);
  recordEvent(world, "transfer.created", transfer);
  return transfer;
}

/**
 * Reverses a transfer, wholly or in part. What has not been reversed yet and the account's balance must both cover the
 * amount.
 */
function createReversal(call: Call<Stripe.TransferCreateReversalParams>): Stripe.TransferReversal {
  const { world, parameters, now } = call;
  const transfer = world.store.get("transfer", call.id);
  const owner = String(transfer.destination);
  const left = transfer.amount - transfer.amount_reversed;
  if (left === 0) throw invalidRequest("transfer_already_reversed", `Transfer ${transfer.id} is already reversed.`);
  const amountCents = requirePositive(parameters.amount ?? left);
  if (amountCents > left) {
    const message = `The reversal (${amountCents}) is greater than what is left of the transfer (${left}).`;
    throw invalidRequest("amount_too_large", message, "amount");
  }
  const { currency } = transfer;
  if (balanceOf(world, owner, currency) < amountCents) throw balanceTooLow("transfer reversal");
  const id = newId("trr");
  const reversal: Stripe.TransferReversal = {
    id,
    object: "transfer_reversal",
    amount: amountCents,
    balance_transaction: book(world, { type: "transfer_refund", amountCents, currency, source: id }),
    created: now,
    currency,
    destination_payment_refund: newId("pyr"),
    metadata: metadataOf(parameters.metadata),
    source_refund: null,
    transfer: transfer.id,
  };
  const source = String(reversal.destination_payment_refund);
  book(world, { owner, type: "payment_refund", amountCents: -amountCents, currency, source });
  const changed: Stripe.Transfer = {
    ...transfer,
    amount_reversed: transfer.amount_reversed + amountCents,
    reversals: { ...transfer.reversals, data: [reversal, ...transfer.reversals.data].slice(0, 10) },
    reversed: amountCents === left,
  };
  world.store.insert(platform, reversal);
  world.store.update(changed);
  recordEvent(world, "transfer.reversed", changed);
  return reversal;
}
