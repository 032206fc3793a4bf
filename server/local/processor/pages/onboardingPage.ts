import type Stripe from "stripe";
import { type BankAccount, bankAccounts, type OnboardingOutcome, onboardingOutcomes } from "../model/choices.ts";
import type { OnboardingLink } from "../model/objects.ts";
import { html, page, radioChoices } from "./html.ts";

/** Builds the hosted page where a person enters the details that payouts need. */
export function onboardingPage(
  link: OnboardingLink,
  account: Stripe.V2.Core.Account,
  notice: string | null = null,
): string {
  return page(
    "Get paid by Rebid",
    html`
<h1 class="large">Get paid by Rebid</h1>
<p class="soft">Tell us who you are and where your earnings should go.</p>
${notice === null ? "" : html`<p class="notice" role="alert">${notice}</p>`}
<form method="post" action="/onboarding/${link.id}">
<label class="field" for="name">Legal name</label>
<input type="text" id="name" value="${account.display_name ?? "Test Person"}" autocomplete="off">
<label class="field" for="account">Bank account number</label>
<input type="text" id="account" value="000123456789" inputmode="numeric" autocomplete="off">
<details><summary>Choose the outcome</summary>
<fieldset><legend>This is a test page. You decide how onboarding ends.</legend>
${radioChoices("ending", onboardingOutcomes)}</fieldset>
<fieldset><legend>Payouts to this bank account</legend>
${radioChoices("bank", bankAccounts)}</fieldset>
</details>
<button type="submit">Finish setup</button>
<button type="submit" class="quiet" name="outcome" value="leaves">Save and continue later</button>
</form>`,
  );
}

/**
 * Returns what the form asks for: the second button leaves; otherwise the selected ending counts. Returns null for an
 * unknown name.
 */
export function chosenOnboarding(form: URLSearchParams): { outcome: OnboardingOutcome; bank: BankAccount } | null {
  const outcomeName = form.get("outcome") ?? form.get("ending") ?? "finishes";
  const bankName = form.get("bank") ?? "pays";
  const outcome = onboardingOutcomes.find(({ name }) => name === outcomeName)?.name;
  const bank = bankAccounts.find(({ name }) => name === bankName)?.name;
  return outcome === undefined || bank === undefined ? null : { outcome, bank };
}
