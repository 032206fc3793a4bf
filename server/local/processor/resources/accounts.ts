import type Stripe from "stripe";
import { type Call, requireSupported, route } from "../api/call.ts";
import { v2Page } from "../api/list.ts";
import { metadataOf } from "../api/values.ts";
import { type BankAccount, bankAccounts } from "../model/choices.ts";
import { recordThinEvent } from "../model/events.ts";
import { newId, platform } from "../model/objects.ts";
import { invalidRequest, Refusal } from "../model/refusal.ts";
import type { World } from "../model/world.ts";

type Account = Stripe.V2.Core.Account;
type Capability = "payouts" | "stripe_transfers";
type CapabilityStatus =
  Stripe.V2.Core.Account.Configuration.Recipient.Capabilities.StripeBalance.StripeTransfers.Status;
type StatusDetail =
  Stripe.V2.Core.Account.Configuration.Recipient.Capabilities.StripeBalance.StripeTransfers.StatusDetail;

const accountParameters = [
  "contact_email",
  "display_name",
  "dashboard",
  "identity",
  "configuration",
  "defaults",
  "metadata",
  "include",
] as const;

export const accountCalls = [
  route("POST /v2/core/accounts", accountParameters, createAccount),
  route("GET /v2/core/accounts", ["limit", "page"], (call) => {
    const page = v2Page(call, "v2.core.account", "/v2/core/accounts", []);
    return { ...page, data: page.data.map((account) => shown(account, [])) };
  }),
  route("GET /v2/core/accounts/:id", ["include"], ({ world, id, parameters }) =>
    shown(world.store.get("v2.core.account", id), parameters.include),
  ),
];

function createAccount({ world, parameters }: Call<Stripe.V2.Core.AccountCreateParams>): Account {
  const { configuration = {}, contact_email: email, display_name: name, dashboard, identity, defaults } = parameters;
  requireSupported(configuration, new Set(["recipient"]));
  const requested = configuration.recipient?.capabilities?.stripe_balance?.stripe_transfers?.requested === true;
  if (!requested)
    throw invalidFields(
      "The embedded processor supports only accounts that request recipient.stripe_balance.stripe_transfers.",
    );
  if (email === undefined)
    throw invalidFields("contact_email is required when configuring the account as a recipient.");
  if (identity?.country === undefined) throw invalidFields("identity.country is required to request capabilities.");
  if (dashboard === "express" && defaults?.responsibilities === undefined) {
    throw invalidFields("defaults.responsibilities is required with the express dashboard.");
  }
  const id = newId("acct");
  const account: Account = {
    id,
    object: "v2.core.account",
    applied_configurations: ["recipient"],
    configuration: { recipient: { applied: true, capabilities: { stripe_balance: {} } } },
    contact_email: email,
    created: new Date(world.nowMs()).toISOString(),
    ...(dashboard === undefined ? {} : { dashboard }),
    defaults: {
      currency: defaults?.currency ?? "usd",
      responsibilities: { ...defaults?.responsibilities, requirements_collector: "stripe" },
    },
    ...(name === undefined ? {} : { display_name: name }),
    identity: { country: identity.country },
    livemode: false,
    metadata: metadataOf(parameters.metadata),
  };
  const created = withCapabilities(account, "restricted");
  world.store.insert(platform, created);
  recordThinEvent(world, "v2.core.account.created", id);
  return shown(created, parameters.include);
}

function invalidFields(message: string): Refusal {
  return new Refusal(400, { code: "invalid_fields", message });
}

/** Returns the account as in Stripe's responses: without the optional parts that `include` does not name. */
function shown(account: Account, include: string[] = []): Account {
  const { configuration, identity, defaults, ...rest } = account;
  return {
    ...rest,
    ...(include.includes("configuration.recipient") && configuration !== undefined ? { configuration } : {}),
    ...(include.includes("identity") && identity !== undefined ? { identity } : {}),
    ...(include.includes("defaults") && defaults !== undefined ? { defaults } : {}),
  };
}

function withCapabilities(account: Account, status: CapabilityStatus): Account {
  const details: StatusDetail[] =
    status === "active" ? [] : [{ code: "requirements_past_due", resolution: "provide_info" }];
  const capability = { status, status_details: details };
  const capabilities = { stripe_balance: { payouts: capability, stripe_transfers: capability } };
  return { ...account, configuration: { recipient: { applied: true, capabilities } } };
}

/** Sets both capabilities, as Stripe does when it has verified the details or when requirements become overdue. */
export function setCapabilities(world: World, id: string, status: CapabilityStatus): Account {
  const account = world.store.get("v2.core.account", id);
  const changed = withCapabilities(account, status);
  world.store.update(changed);
  for (const name of ["stripe_transfers", "payouts"] as const) {
    if (capability(account, name) === status) continue;
    const type = "v2.core.account[configuration.recipient].capability_status_updated";
    recordThinEvent(world, type, id, { updated_capability: `stripe_balance.${name}` });
  }
  return changed;
}

/** Stores the details entered in onboarding: the identity and a bank account (see `choices.ts`). */
export function setDetails(world: World, id: string, bank: BankAccount): void {
  const account = world.store.get("v2.core.account", id);
  const { defaults, identity } = account;
  world.store.update({
    ...account,
    identity: { ...identity, entity_type: "individual" },
    defaults: {
      ...defaults,
      responsibilities: defaults?.responsibilities ?? { requirements_collector: "stripe" },
      payout_methods: { usd: `ba_${bank}` },
    },
  });
  recordThinEvent(world, "v2.core.account[identity].updated", id);
  recordThinEvent(world, "v2.core.account[requirements].updated", id);
}

/** Returns the account's bank account, which determines what happens to payouts. */
export function bankAccountOf(world: World, id: string): BankAccount {
  const methods = world.store.get("v2.core.account", id).defaults?.payout_methods ?? {};
  return bankAccounts.find(({ name }) => Object.values(methods).includes(`ba_${name}`))?.name ?? "pays";
}

/** Returns a capability's status, or undefined if it was never requested. */
export function capability(account: Account, name: Capability): CapabilityStatus | undefined {
  return account.configuration?.recipient?.capabilities?.stripe_balance?.[name]?.status;
}

/** @throws Refusal when the account cannot receive transfers */
export function requireTransfers(world: World, id: string): void {
  const account = world.store.find("v2.core.account", id);
  if (account === undefined) {
    throw invalidRequest("resource_missing", `No such destination: '${id}'`, "destination");
  }
  if (capability(account, "stripe_transfers") === "active") return;
  const message =
    "Your destination account needs to have at least one of the following capabilities enabled: transfers.";
  throw invalidRequest("insufficient_capabilities_for_transfer", message);
}

/** @throws Refusal when the account cannot make payouts */
export function requirePayouts(world: World, owner: string): void {
  const account = world.store.find("v2.core.account", owner);
  if (account !== undefined && capability(account, "payouts") === "active") return;
  throw invalidRequest("payouts_not_allowed", "Payouts have been disabled for this account.");
}
