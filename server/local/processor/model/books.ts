import { route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { invalidRequest, type Refusal } from "./refusal.ts";
import { newId, platform } from "./store.ts";
import { nowSeconds, type World } from "./world.ts";

export const balanceCalls = [
  route("GET /v1/balance", [], ({ world, owner }) => {
    const available = balancesOf(world, owner).map(({ cents, currency }) => ({ amount: cents, currency }));
    return { object: "balance", available, livemode: false, pending: [] };
  }),
  route("GET /v1/balance_transactions", [...pageParameters, "currency", "source", "type"], (call) => {
    const { currency, source, type } = call.parameters;
    const url = "/v1/balance_transactions";
    return listPage(call, "balance_transaction", url, call.parameters, { currency, source, type });
  }),
  route("GET /v1/balance_transactions/:id", ["expand"], ({ world, id, owner, parameters }) =>
    expanded(world, world.store.get("balance_transaction", id, owner), parameters.expand),
  ),
];

/** What an owner has in every currency; 0 US dollars when nothing was ever booked. */
export function balancesOf(world: World, owner: string): { cents: number; currency: string }[] {
  const rows = world.store.rows("select currency, cents from balances where owner = ? order by currency", owner);
  const balances = rows.map(({ cents, currency }) => ({ cents: Number(cents), currency: String(currency) }));
  return balances.length === 0 ? [{ cents: 0, currency: "usd" }] : balances;
}

/** What an owner's balance holds, in cents; the platform's can go below zero by refunds and disputes. */
export function balanceOf(world: World, owner: string, currency: string): number {
  const [row] = world.store.rows("select cents from balances where owner = ? and currency = ?", owner, currency);
  return Number(row?.cents ?? 0);
}

/**
 * Books a change of a balance and gives the id of its balance transaction. No fees are taken, so that the books can be
 * compared with a ledger to the cent, and all money is available at once.
 */
export function book(
  world: World,
  entry: { owner?: string; type: string; amountCents: number; currency: string; source: string | null },
): string {
  const { owner = platform, type, amountCents, currency, source } = entry;
  const created = nowSeconds(world);
  const id = newId("txn");
  const sql = `insert into balances (owner, currency, cents) values (?, ?, ?)
    on conflict (owner, currency) do update set cents = cents + excluded.cents`;
  world.store.run(sql, owner, currency, amountCents);
  world.store.insert(owner, {
    id,
    object: "balance_transaction",
    amount: amountCents,
    available_on: created,
    balance_type: "payments",
    created,
    currency,
    description: null,
    exchange_rate: null,
    fee: 0,
    fee_details: [],
    net: amountCents,
    reporting_category: type,
    source,
    status: "available",
    type,
  });
  return id;
}

/** Stripe's refusal of what a balance does not cover. */
export function balanceTooLow(purpose: string): Refusal {
  const message = `You have insufficient available funds in your Stripe balance for this ${purpose}.`;
  return invalidRequest("balance_insufficient", message);
}
