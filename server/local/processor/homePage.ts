import {
  bankAccounts,
  type Choice,
  callFaults,
  checkoutOutcomes,
  eventFaults,
  onboardingOutcomes,
  payoutAmounts,
} from "./choices.ts";
import { type Html, html, money, page } from "./html.ts";
import { testCalls } from "./testApi.ts";

/** The start page: what can be chosen by name, and how. */
export function homePage(): string {
  const calls = testCalls.map(({ method, path, description }) => row(`${method} ${path}`, html`${description}`));
  return page(
    "Rebid test processor",
    html`
<h1 class="large">Test payment processor</h1>
<p class="soft">It answers Stripe's API on this address. Everything below can be chosen by its name.</p>
${section("How a checkout ends", checkoutOutcomes, ({ card }) => html`card ${card}`)}
${section("How onboarding ends", onboardingOutcomes)}
${section("Bank accounts, chosen in onboarding", bankAccounts)}
${section("Payouts of a magic amount", payoutAmounts, ({ amountCents }) => html`${money(amountCents, "usd")}`)}
${section("Faults of API calls", callFaults)}
${section("Faults of events", eventFaults)}
<h2>Calls for scripts</h2>
<p class="soft">Bodies are JSON:
<code>curl -d '{"name":"timeout_after","next":3}' &lt;address&gt;/test/faults</code></p>
<table><tbody>${calls}</tbody></table>`,
    "wide",
  );
}

function section<Row extends Choice>(title: string, table: readonly Row[], extra?: (row: Row) => Html): Html {
  const rows = table.map((choice) => {
    const more = extra === undefined ? "" : html` <small class="soft">${extra(choice)}</small>`;
    return row(choice.name, html`${choice.description}${more}`);
  });
  return html`<h2>${title}</h2>
<table><tbody>${rows}</tbody></table>`;
}

function row(name: string, description: Html): Html {
  return html`<tr><th scope="row"><code>${name}</code></th><td>${description}</td></tr>`;
}
