import type Stripe from "stripe";
import { type BankAccount, bankAccounts, type OnboardingOutcome, onboardingOutcomes } from "../model/choices.ts";
import type { OnboardingLink } from "../model/objects.ts";
import { html, page, radioChoices } from "./html.ts";

/** The hosted page where a person gives what a payout needs. */
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
<details><summary>Choose what should happen</summary>
<fieldset><legend>This test page ends as you say.</legend>
${radioChoices("ending", onboardingOutcomes)}</fieldset>
<fieldset><legend>Payouts to the bank account</legend>
${radioChoices("bank", bankAccounts)}</fieldset>
</details>
<button type="submit">Finish setup</button>
<button type="submit" class="quiet" name="outcome" value="leaves">Save and continue later</button>
</form>`,
  );
}

/** What the form asks for: the second button leaves, else the chosen ending counts. Null for an unknown name. */
export function chosenOnboarding(form: URLSearchParams): { outcome: OnboardingOutcome; bank: BankAccount } | null {
  const outcomeName = form.get("outcome") ?? form.get("ending") ?? "finishes";
  const bankName = form.get("bank") ?? "pays";
  const outcome = onboardingOutcomes.find(({ name }) => name === outcomeName)?.name;
  const bank = bankAccounts.find(({ name }) => name === bankName)?.name;
  return outcome === undefined || bank === undefined ? null : { outcome, bank };
}
