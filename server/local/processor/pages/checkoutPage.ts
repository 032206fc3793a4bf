import type Stripe from "stripe";
import { type CheckoutOutcome, checkoutOutcomes } from "../model/choices.ts";
import { html, money, page, radioChoices } from "./html.ts";

/** Builds the hosted checkout page of a session. `notice` says why the last attempt failed. */
export function checkoutPage(session: Stripe.Checkout.Session, notice: string | null = null): string {
  if (session.status === "complete") {
    return closedPage(session, "This payment is complete", "There is nothing left to do here.");
  }
  if (session.status !== "open") {
    return closedPage(session, "This payment link has expired", "Go back to Rebid and start a new top-up.");
  }
  const amount = money(session.amount_total, session.currency);
  const choices = radioChoices("outcome", checkoutOutcomes, ({ card }) => `Card ${card}`);
  const cancel = session.cancel_url;
  return page(
    `Pay ${amount} to Rebid`,
    html`
<h1>Rebid wallet top-up</h1>
<p class="amount">${amount}</p>
${notice === null ? "" : html`<p class="notice" role="alert">${notice}</p>`}
<form method="post" action="/checkout/${session.id}/pay">
<label class="field" for="card">Card number</label>
<input type="text" id="card" name="card" value="${defaultCard}" inputmode="numeric" autocomplete="off" required>
<div class="row">
<div><label class="field" for="expiry">Expiry</label>
<input type="text" id="expiry" value="12 / 34" autocomplete="off"></div>
<div><label class="field" for="code">Security code</label>
<input type="text" id="code" value="123" autocomplete="off"></div>
</div>
<details><summary>Choose the outcome</summary>
<fieldset><legend>This is a test page. You decide how the payment ends.</legend>${choices}</fieldset>
</details>
<button type="submit">Pay ${amount}</button>
</form>
${cancel === null ? "" : html`<a class="cancel" href="${cancel}">Cancel and return to Rebid</a>`}`,
  );
}

function closedPage(session: Stripe.Checkout.Session, title: string, text: string): string {
  const back = session.status === "complete" ? session.success_url : session.cancel_url;
  const address = back?.replaceAll("{CHECKOUT_SESSION_ID}", session.id);
  return page(
    title,
    html`
<h1 class="large">${title}</h1>
<p class="soft">${money(session.amount_total, session.currency)}. ${text}</p>
${address === undefined ? "" : html`<a href="${address}">Return to Rebid</a>`}`,
  );
}

const defaultCard = checkoutOutcomes[0].card;

/**
 * Returns the outcome that the form asks for. If the card number was changed, it determines the outcome, and an unknown
 * number is declined. Otherwise the selected name counts. Returns null for a name that does not exist.
 */
export function chosenOutcome(form: URLSearchParams): CheckoutOutcome | null {
  const digits = (form.get("card") ?? "").replace(/\D/g, "");
  if (digits !== "" && digits !== defaultCard.replace(/\D/g, "")) {
    return checkoutOutcomes.find(({ card }) => card.replace(/\D/g, "") === digits)?.name ?? "declined";
  }
  const name = form.get("outcome") ?? "pays";
  return checkoutOutcomes.find((outcome) => outcome.name === name)?.name ?? null;
}
