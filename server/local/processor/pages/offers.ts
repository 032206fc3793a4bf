import { balancesOf } from "../model/books.ts";
import { bankAccounts, type Choice, checkoutOutcomes, onboardingOutcomes } from "../model/choices.ts";
import type { Kind, Objects } from "../model/objects.ts";
import type { World } from "../model/world.ts";
import { capability } from "../resources/accounts.ts";
import { canBecome } from "../resources/payouts.ts";
import { money } from "./html.ts";

/** A button on the start page: a call of the test API for one object, and the options that a person can choose. */
export interface Offer {
  label: string;
  /** The call's method and path. `:id` stands for the object's id. */
  request: string;
  /** Fixed fields of the body. */
  body?: Record<string, string>;
  /** Fields with a choice from a table, by field name. */
  choices?: Record<string, readonly Choice[]>;
  /** Whether an amount in cents can be entered. */
  amount?: true;
}

export interface ShownObject {
  id: string;
  created: Date;
  text: string;
  /** The path of the object's own page, if it has one. */
  page: string | null;
  offers: Offer[];
}

export interface ShownKind {
  title: string;
  newest(world: World): ShownObject[];
}

const SHOWN_PER_KIND = 10;

const sendAgain = { label: "Send again", request: "POST /test/events/:id/resend", when: () => true };

/** The kinds of objects on the start page, and the calls that each object offers in its current state. */
export const shownKinds: ShownKind[] = [
  show("checkout.session", "Checkout sessions", {
    text: ({ object }) => `${money(object.amount_total, object.currency)}, ${object.status}, ${object.payment_status}`,
    page: ({ id }) => `/checkout/${id}`,
    offers: [
      {
        label: "Pay",
        request: "POST /test/checkout/:id/pay",
        choices: { outcome: checkoutOutcomes },
        when: ({ status }) => status === "open",
      },
      { label: "Expire", request: "POST /test/checkout/:id/expire", when: ({ status }) => status === "open" },
    ],
  }),
  show("charge", "Charges", {
    text: ({ object: { amount, amount_refunded: refunded, currency, status, disputed } }) =>
      [
        money(amount, currency),
        status,
        ...(refunded > 0 ? [`${money(refunded, currency)} refunded`] : []),
        ...(disputed ? ["disputed"] : []),
      ].join(", "),
    offers: [
      {
        label: "Refund",
        request: "POST /test/charges/:id/refund",
        amount: true,
        when: ({ status, disputed, refunded }) => status === "succeeded" && !disputed && !refunded,
      },
      {
        label: "Dispute",
        request: "POST /test/charges/:id/dispute",
        when: ({ status, disputed, refunded }) => status === "succeeded" && !disputed && !refunded,
      },
    ],
  }),
  show("refund", "Refunds", {
    text: ({ object }) => `${money(object.amount, object.currency)} of ${object.charge}, ${object.status}`,
    offers: [{ label: "Fail", request: "POST /test/refunds/:id/fail", when: ({ status }) => status === "succeeded" }],
  }),
  show("dispute", "Disputes", {
    text: ({ object }) => `${money(object.amount, object.currency)} of ${object.charge}, ${words(object.status)}`,
    offers: (["won", "lost"] as const).map((outcome) => ({
      label: `Close as ${outcome}`,
      request: "POST /test/disputes/:id/close",
      body: { outcome },
      when: ({ status }) => status === "needs_response",
    })),
  }),
  show("payout", "Payouts", {
    text: ({ object, owner }) => `${money(object.amount, object.currency)} to ${owner}, ${words(object.status)}`,
    offers: [
      { label: "Send", request: "POST /test/payouts/:id/leave", when: (payout) => canBecome(payout, "in_transit") },
      { label: "Mark as paid", request: "POST /test/payouts/:id/pay", when: (payout) => canBecome(payout, "paid") },
      { label: "Fail", request: "POST /test/payouts/:id/fail", when: (payout) => canBecome(payout, "failed") },
      { label: "Cancel", request: "POST /test/payouts/:id/cancel", when: (payout) => canBecome(payout, "canceled") },
    ],
  }),
  show("v2.core.account", "Accounts", {
    text: ({ object, world }) => {
      const balances = balancesOf(world, object.id).map(({ cents, currency }) => money(cents, currency));
      const name = object.display_name ?? object.contact_email ?? "unnamed";
      return `${name}, ${capability(object, "stripe_transfers")}, ${balances.join(" and ")}`;
    },
    offers: [
      {
        label: "Onboard",
        request: "POST /test/accounts/:id/onboard",
        choices: { outcome: onboardingOutcomes, bank: bankAccounts },
        when: () => true,
      },
      ...(
        [
          ["active", "Activate"],
          ["restricted", "Restrict"],
          ["pending", "Set pending"],
          ["rejected", "Reject"],
        ] as const
      ).map(([status, label]) => ({
        label,
        request: "POST /test/accounts/:id/capabilities",
        body: { status },
        when: (account: Objects["v2.core.account"]) => capability(account, "stripe_transfers") !== status,
      })),
    ],
  }),
  show("event", "Events", {
    text: ({ object, world }) => `${object.type}, ${delivery(world, object.id)}`,
    offers: [sendAgain],
  }),
  show("v2.core.event", "Account events", {
    text: ({ object, world }) => `${object.type}, ${delivery(world, object.id)}`,
    offers: [sendAgain],
  }),
];

type DatedKind = Exclude<Kind, "balance_settings" | "v2.core.account_link">;

function show<K extends DatedKind>(
  kind: K,
  title: string,
  shown: {
    text(stored: { object: Objects[K]; owner: string; world: World }): string;
    page?(object: Objects[K]): string;
    offers: (Offer & { when(object: Objects[K]): boolean })[];
  },
): ShownKind {
  return {
    title,
    newest: (world) =>
      world.store.newest(kind, SHOWN_PER_KIND).map(({ object, owner }) => ({
        id: object.id,
        // v1 has epoch seconds, v2 has ISO 8601.
        created: new Date(typeof object.created === "number" ? object.created * 1_000 : object.created),
        text: shown.text({ object, owner, world }),
        page: shown.page?.(object) ?? null,
        offers: shown.offers.filter((offer) => offer.when(object)),
      })),
  };
}

/** Describes the deliveries of an event. An event that a fault dropped was never queued. */
function delivery(world: World, eventId: string): string {
  const copies = world.store.rows("select delivered_ms from deliveries where event_id = ?", eventId);
  const delivered = copies.filter((copy) => copy.delivered_ms !== null).length;
  const pending = copies.length - delivered;
  if (copies.length === 0) return "not sent";
  const received = delivered === 1 ? "received" : `received ${delivered} times`;
  return [...(delivered > 0 ? [received] : []), ...(pending > 0 ? [`${pending} pending`] : [])].join(", ");
}

function words(status: string): string {
  return status.replaceAll("_", " ");
}
