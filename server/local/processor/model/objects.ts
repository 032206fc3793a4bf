import { randomBytes } from "node:crypto";
import type Stripe from "stripe";

/** Everything the processor stores. Each kind has the SDK's own type where Stripe has one. */
export interface Objects {
  "checkout.session": Stripe.Checkout.Session;
  payment_intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  refund: Stripe.Refund;
  dispute: Stripe.Dispute;
  transfer: Stripe.Transfer;
  transfer_reversal: Stripe.TransferReversal;
  payout: Stripe.Payout;
  balance_transaction: Stripe.BalanceTransaction;
  balance_settings: StoredBalanceSettings;
  "v2.core.account": Stripe.V2.Core.Account;
  "v2.core.account_link": OnboardingLink;
  event: SnapshotEvent;
  "v2.core.event": ThinEvent;
}
export type Kind = keyof Objects;

/** Stripe's object has no id. Here it has one, made from the account's id. */
export type StoredBalanceSettings = Stripe.BalanceSettings & { id: string };

/** A single-use onboarding link. `id` is the token in its URL; `expiresAt` and `usedAt` are epoch seconds. */
export interface OnboardingLink {
  id: string;
  object: "v2.core.account_link";
  account: string;
  returnUrl: string;
  refreshUrl: string;
  expiresAt: number;
  usedAt: number | null;
}

export interface SnapshotEvent {
  id: string;
  object: "event";
  account?: string;
  api_version: string;
  created: number;
  data: { object: unknown };
  livemode: false;
  pending_webhooks: number;
  request: { id: null; idempotency_key: null };
  type: string;
}

export interface ThinEvent {
  id: string;
  object: "v2.core.event";
  created: string;
  livemode: false;
  type: string;
  related_object: { id: string; type: string; url: string } | null;
  data?: unknown;
}

/** The owner of every object that does not belong to a connected account. */
export const platform = "platform";

/** Returns an id that looks like Stripe's, such as `cs_test_9f…`. Ids are random, so their order means nothing. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString("hex")}`;
}
