import type Stripe from "stripe";
import { type Call, requireSupported, route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { metadataOf, requirePositive } from "../api/values.ts";
import type { CheckoutOutcome } from "../model/choices.ts";
import { recordEvent } from "../model/events.ts";
import { newId, platform } from "../model/objects.ts";
import { invalidRequest } from "../model/refusal.ts";
import { type Action, later } from "../model/schedule.ts";
import type { World } from "../model/world.ts";
import { chargeCard, openPaymentIntent, settleCharge } from "./charges.ts";
import { initialSession } from "./initialValues.ts";

const HOUR_SECONDS = 3_600;

const sessionParameters = [
  "mode",
  "ui_mode",
  "client_reference_id",
  "metadata",
  "payment_intent_data",
  "line_items",
  "success_url",
  "cancel_url",
  "customer_email",
  "expires_at",
] as const;

export const checkoutCalls = [
  route("POST /v1/checkout/sessions", sessionParameters, createSession),
  route("GET /v1/checkout/sessions", [...pageParameters, "status", "payment_intent"], (call) => {
    const { status, payment_intent } = call.parameters;
    return listPage(call, "checkout.session", "/v1/checkout/sessions", call.parameters, { status, payment_intent });
  }),
  route("GET /v1/checkout/sessions/:id", ["expand"], ({ world, id, parameters }) =>
    expanded(world, world.store.get("checkout.session", id), parameters.expand),
  ),
  route("POST /v1/checkout/sessions/:id/expire", [], ({ world, id }) => {
    const session = world.store.get("checkout.session", id);
    if (session.status !== "open") {
      const message = `Only Checkout Sessions with a status in ["open"] can be expired. This one is ${session.status}.`;
      throw invalidRequest("resource_invalid_state", message);
    }
    return expireSession(world, id);
  }),
];

export const checkoutActions: Record<string, Action> = {
  expireSession: (world, id) => void expireSession(world, id),
  slowPaymentSucceeds: (world, id) => finishSlowPayment(world, id, "succeeded"),
  slowPaymentFails: (world, id) => finishSlowPayment(world, id, "failed"),
};

function createSession({ world, parameters, now }: Call<Stripe.Checkout.SessionCreateParams>): Stripe.Checkout.Session {
  if (parameters.mode !== "payment")
    throw invalidRequest("parameter_invalid", "The embedded processor supports only the mode payment.", "mode");
  const { success_url, ui_mode = "hosted_page" } = parameters;
  if (ui_mode !== "hosted_page")
    throw invalidRequest("parameter_invalid", "The embedded processor supports only the hosted page.", "ui_mode");
  if (success_url === undefined) {
    throw invalidRequest("parameter_missing", "Missing required param: success_url.", "success_url");
  }
  for (const url of [success_url, parameters.cancel_url]) requireUrl(url);
  requireSupported(parameters.payment_intent_data ?? {}, new Set(["metadata"]));
  const { amountCents, currency } = totalOf(parameters.line_items ?? []);
  const expiresAt = parameters.expires_at ?? now + 24 * HOUR_SECONDS;
  if (expiresAt < now + HOUR_SECONDS / 2 || expiresAt > now + 24 * HOUR_SECONDS) {
    throw invalidRequest(
      "parameter_invalid",
      "expires_at must be between 30 minutes and 24 hours from now.",
      "expires_at",
    );
  }
  const id = newId("cs_test");
  const session: Stripe.Checkout.Session = {
    ...initialSession,
    id,
    amount_subtotal: amountCents,
    amount_total: amountCents,
    cancel_url: parameters.cancel_url ?? null,
    client_reference_id: parameters.client_reference_id ?? null,
    created: now,
    currency,
    customer_email: parameters.customer_email ?? null,
    expires_at: expiresAt,
    metadata: metadataOf(parameters.metadata),
    success_url,
    url: `${world.url}/checkout/${id}`,
  };
  world.store.insert(platform, session);
  openPaymentIntent(world, session, metadataOf(parameters.payment_intent_data?.metadata));
  later(world, (expiresAt - now) * 1_000, "expireSession", id);
  return session;
}

function totalOf(items: Stripe.Checkout.SessionCreateParams.LineItem[]): { amountCents: number; currency: string } {
  if (items.length === 0)
    throw invalidRequest("parameter_missing", "Missing required param: line_items.", "line_items");
  let amountCents = 0;
  const currencies = new Set<string>();
  for (const [index, { price_data: price, quantity }] of items.entries()) {
    const name = `line_items[${index}]`;
    if (price === undefined || price.product_data === undefined) {
      throw invalidRequest(
        "parameter_missing",
        `The embedded processor requires ${name}[price_data][product_data].`,
        `${name}[price_data]`,
      );
    }
    amountCents +=
      requirePositive(price.unit_amount, `${name}[price_data][unit_amount]`) *
      requirePositive(quantity ?? 0, `${name}[quantity]`);
    currencies.add(price.currency.toLowerCase());
  }
  const [currency = "", ...others] = currencies;
  if (!/^[a-z]{3}$/.test(currency) || others.length > 0) {
    throw invalidRequest("parameter_invalid", "All line items must have the same valid currency.", "line_items");
  }
  if (amountCents < 50) {
    const message = "The Checkout Session's total amount must convert to at least 50 cents.";
    throw invalidRequest("amount_too_small", message, "line_items");
  }
  return { amountCents: requirePositive(amountCents), currency };
}

function requireUrl(url: string | undefined): void {
  // The placeholder of the session's id contains characters that are not valid in a URL.
  if (url !== undefined && !URL.canParse(url.replaceAll("{CHECKOUT_SESSION_ID}", "id"))) {
    throw invalidRequest("url_invalid", "Not a valid URL", "success_url");
  }
}

/**
 * Pays an open session with one of the named outcomes. Returns the URL that the browser is redirected to, or null if
 * the card was declined and the page stays open.
 */
export function paySession(world: World, id: string, outcome: CheckoutOutcome): string | null {
  const session = world.store.get("checkout.session", id);
  if (session.status !== "open") throw invalidRequest("resource_invalid_state", `This session is ${session.status}.`);
  const slow = outcome === "pays_later" || outcome === "pays_later_fails";
  const charge = chargeCard(world, session, outcome === "declined" ? "failed" : slow ? "pending" : "succeeded");
  if (outcome === "declined") return null;

  const paid: Stripe.Checkout.Session = {
    ...session,
    status: "complete",
    payment_status: slow ? "unpaid" : "paid",
    payment_intent: charge.payment_intent,
    url: null,
  };
  world.store.update(paid);
  recordEvent(world, "checkout.session.completed", paid);

  if (slow) later(world, world.stepMs, outcome === "pays_later" ? "slowPaymentSucceeds" : "slowPaymentFails", id);
  if (outcome === "refunded") later(world, world.stepMs, "refundAll", charge.id);
  if (outcome === "refunded_half") later(world, world.stepMs, "refundHalf", charge.id);
  if (outcome.startsWith("disputed")) later(world, world.stepMs, outcome, charge.id);
  return successUrlOf(paid);
}

function successUrlOf(session: Stripe.Checkout.Session): string {
  return (session.success_url ?? "/").replaceAll("{CHECKOUT_SESSION_ID}", session.id);
}

/** Expires an open session. A session that was paid in the meantime is left unchanged. */
export function expireSession(world: World, id: string): Stripe.Checkout.Session {
  const session = world.store.get("checkout.session", id);
  if (session.status !== "open") return session;
  const expired: Stripe.Checkout.Session = { ...session, status: "expired", url: null };
  world.store.update(expired);
  recordEvent(world, "checkout.session.expired", expired);
  return expired;
}

function finishSlowPayment(world: World, id: string, result: "succeeded" | "failed"): void {
  const session = world.store.get("checkout.session", id);
  settleCharge(world, String(session.payment_intent), result);
  const finished: Stripe.Checkout.Session = {
    ...session,
    payment_status: result === "succeeded" ? "paid" : "unpaid",
  };
  world.store.update(finished);
  recordEvent(world, `checkout.session.async_payment_${result}`, finished);
}
