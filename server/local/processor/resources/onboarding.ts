import type Stripe from "stripe";
import { type Call, route } from "../api/call.ts";
import type { BankAccount, OnboardingOutcome } from "../model/choices.ts";
import { recordThinEvent } from "../model/events.ts";
import { newId, type OnboardingLink, platform } from "../model/objects.ts";
import { invalidRequest, Refusal } from "../model/refusal.ts";
import { nowSeconds, type World } from "../model/world.ts";
import { setCapabilities, setDetails } from "./accounts.ts";

const LINK_LIFETIME_SECONDS = 300;

export const onboardingCalls = [route("POST /v2/core/account_links", ["account", "use_case"], createLink)];

function createLink(call: Call<Stripe.V2.Core.AccountLinkCreateParams>): Stripe.V2.Core.AccountLink {
  const { world, parameters, now } = call;
  const { account_onboarding: options, type } = parameters.use_case;
  if (type !== "account_onboarding" || options === undefined) {
    throw new Refusal(400, {
      code: "invalid_fields",
      message: "The embedded processor supports only use_case.account_onboarding.",
    });
  }
  for (const url of [options.refresh_url, options.return_url]) {
    if (url !== undefined && !URL.canParse(url)) {
      throw new Refusal(400, { code: "invalid_fields", message: `Not a valid URL: ${url}` });
    }
  }
  world.store.get("v2.core.account", parameters.account);
  const link: OnboardingLink = {
    id: newId("link"),
    object: "v2.core.account_link",
    account: parameters.account,
    returnUrl: options.return_url ?? options.refresh_url,
    refreshUrl: options.refresh_url,
    expiresAt: now + LINK_LIFETIME_SECONDS,
    usedAt: null,
  };
  world.store.insert(platform, link);
  return {
    object: "v2.core.account_link",
    account: link.account,
    created: new Date(now * 1_000).toISOString(),
    expires_at: new Date(link.expiresAt * 1_000).toISOString(),
    livemode: false,
    url: `${world.url}/onboarding/${link.id}`,
    use_case: { type: "account_onboarding", account_onboarding: options },
  };
}

/** Whether a link is unused and has not expired. If not, Stripe redirects the browser to the refresh URL. */
export function isUsable(world: World, link: OnboardingLink): boolean {
  return link.usedAt === null && nowSeconds(world) < link.expiresAt;
}

/** Completes the onboarding page and uses up the link. Returns the URL that the browser is redirected to. */
export function useLink(world: World, link: OnboardingLink, outcome: OnboardingOutcome, bank: BankAccount): string {
  if (!isUsable(world, link))
    throw invalidRequest("resource_invalid_state", "This link has expired or has already been used.");
  world.store.update({ ...link, usedAt: nowSeconds(world) });
  onboard(world, link.account, outcome, bank);
  const data = { account_id: link.account, configurations: ["recipient"], use_case: "account_onboarding" };
  recordThinEvent(world, "v2.core.account_link.returned", null, data);
  return link.returnUrl;
}

/** Stores the details entered in onboarding and sets the account's capabilities accordingly. */
export function onboard(world: World, accountId: string, outcome: OnboardingOutcome, bank: BankAccount): void {
  setDetails(world, accountId, bank);
  if (outcome !== "leaves") setCapabilities(world, accountId, outcome === "finishes" ? "active" : "restricted");
}
