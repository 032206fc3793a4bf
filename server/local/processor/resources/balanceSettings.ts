import type Stripe from "stripe";
import { type Call, requireSupported, route } from "../api/call.ts";
import { platform, type StoredBalanceSettings } from "../model/objects.ts";
import type { World } from "../model/world.ts";

export const balanceSettingsCalls = [
  route("GET /v1/balance_settings", [], ({ world, owner }) => shown(settingsOf(world, owner))),
  route("POST /v1/balance_settings", ["payments"], updateSettings),
];

function settingsOf(world: World, owner: string): StoredBalanceSettings {
  const known = world.store.find("balance_settings", `settings_${owner}`);
  return known ?? { id: `settings_${owner}`, object: "balance_settings", payments: defaultPayments };
}

function updateSettings({
  world,
  owner,
  parameters,
}: Call<Stripe.BalanceSettingsUpdateParams>): Stripe.BalanceSettings {
  const { payments = {} } = parameters;
  requireSupported(payments, new Set(["payouts"]));
  requireSupported(payments.payouts ?? {}, new Set(["schedule"]));
  const settings = settingsOf(world, owner);
  const schedule = { interval: payments.payouts?.schedule?.interval ?? "daily" };
  const changed: StoredBalanceSettings = {
    ...settings,
    payments: { ...settings.payments, payouts: { ...defaultPayouts, schedule } },
  };
  if (world.store.find("balance_settings", settings.id) === undefined) world.store.insert(platform, changed);
  else world.store.update(changed);
  return shown(changed);
}

/**
 * Whether Stripe pays out the account's balance automatically. This is the default, and a trap for a platform that
 * makes the payouts itself.
 */
export function paysOutAutomatically(world: World, owner: string): boolean {
  return settingsOf(world, owner).payments.payouts?.schedule?.interval !== "manual";
}

function shown({ object, payments }: StoredBalanceSettings): Stripe.BalanceSettings {
  return { object, payments };
}

const defaultPayouts: Stripe.BalanceSettings.Payments.Payouts = {
  automatic_transfer_rules_by_currency: null,
  minimum_balance_by_currency: null,
  schedule: { interval: "daily" },
  statement_descriptor: null,
  status: "enabled",
};

const defaultPayments: Stripe.BalanceSettings.Payments = {
  debit_negative_balances: false,
  payouts: defaultPayouts,
  settlement_timing: { delay_days: 2, start_of_day: null },
};
