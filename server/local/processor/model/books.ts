import { newId, platform } from "./objects.ts";
import { invalidRequest, type Refusal } from "./refusal.ts";
import { nowSeconds, type World } from "./world.ts";

/** Returns an owner's balance in each currency, or 0 US dollars if nothing was ever booked. */
export function balancesOf(world: World, owner: string): { cents: number; currency: string }[] {
  const rows = world.store.rows("select currency, cents from balances where owner = ? order by currency", owner);
  const balances = rows.map(({ cents, currency }) => ({ cents: Number(cents), currency: String(currency) }));
  return balances.length === 0 ? [{ cents: 0, currency: "usd" }] : balances;
}

/** Returns an owner's balance in cents. Refunds and disputes can make the platform's balance negative. */
export function balanceOf(world: World, owner: string, currency: string): number {
  const [row] = world.store.rows("select cents from balances where owner = ? and currency = ?", owner, currency);
  return Number(row?.cents ?? 0);
}

/**
 * Changes a balance and returns the id of the balance transaction. There are no fees, so that the books match a ledger
 * to the cent, and all money is available immediately.
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

/** Stripe's error for an amount that the balance does not cover. */
export function balanceTooLow(purpose: string): Refusal {
  const message = `You have insufficient available funds in your Stripe balance for this ${purpose}.`;
  return invalidRequest("balance_insufficient", message);
}
