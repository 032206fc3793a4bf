import { balancesOf } from "../model/books.ts";
import {
  bankAccounts,
  type Choice,
  callFaults,
  checkoutOutcomes,
  eventFaults,
  onboardingOutcomes,
  payoutAmounts,
} from "../model/choices.ts";
import { type FaultState, listFaults } from "../model/faults.ts";
import { platform } from "../model/objects.ts";
import type { World } from "../model/world.ts";
import { testCalls } from "../testApi/calls.ts";
import { findTestCall } from "../testApi/run.ts";
import { type Html, html, money, page } from "./html.ts";
import { type Offer, type ShownKind, type ShownObject, shownKinds } from "./offers.ts";

/** The result of the last form: the call that was made, or why it was refused. */
export type Outcome = { done: string } | { refused: string };

/**
 * Builds the start page: the faults, the newest objects with their actions, and the names of all outcomes. Each button
 * makes the same test API call that a script would make.
 */
export function homePage(world: World, outcome: Outcome | null = null): string {
  const calls = testCalls.map(({ method, path, description }) => row(`${method} ${path}`, html`${description}`));
  const faults = listFaults(world);
  const balances = balancesOf(world, platform).map(({ cents, currency }) => money(cents, currency));
  return page(
    "Rebid test processor",
    html`
<h1 class="large">Test payment processor</h1>
<p class="soft">This address serves Stripe's API for tests. You can control what happens here, on the checkout and
onboarding pages, and from scripts through the test API.</p>
${outcome === null ? "" : shownOutcome(outcome)}
<nav><a href="/">Reload</a> ${[
      "Balance",
      "Faults",
      ...shownKinds.map(({ title }) => title),
      "Outcomes",
      "Test API",
    ].map((title) => html` <a href="#${anchor(title)}">${title}</a>`)}</nav>
<h2 id="balance">Platform balance</h2>
<p class="amount small">${balances.join(" and ")}</p>
<form class="inline" method="post" action="/#balance">
<label>Cents to add (negative to withdraw) <input type="number" name="amountCents" step="1" required></label>
${button("Add", "POST /test/balance")}</form>
<h2 id="faults">Faults</h2>
<p class="soft">A fault hits as many of the next calls as you set, or a random share (0 to 1) of all calls. With neither
it is off. It can be limited to calls that start with a text, such as <code>POST /v1/transfers</code>.</p>
<form class="inline" method="post" action="/#faults">${button("Turn off all faults", "DELETE /test/faults")}</form>
${faultSection("Faults of API calls", callFaults, faults)}
${faultSection("Faults of events", eventFaults, faults)}
${shownKinds.map((kind) => objectSection(world, kind))}
<h2 id="outcomes">Outcomes that you can choose by name</h2>
${section("Checkout", checkoutOutcomes, ({ card }) => html`card ${card}`)}
${section("Onboarding", onboardingOutcomes)}
${section("Payouts, by the bank account chosen in onboarding", bankAccounts)}
${section("Payouts, by amount", payoutAmounts, ({ amountCents }) => html`${money(amountCents, "usd")}`)}
<h2 id="test-api">Test API for scripts</h2>
<p class="soft">Bodies are JSON, for example:
<code>curl -d '{"name":"timeout_after","next":3}' &lt;address&gt;/test/faults</code></p>
<table><tbody>${calls}</tbody></table>`,
    "wide",
  );
}

/** The result comes from the page's URL, which anyone can write, so a call that does not exist is not shown as done. */
function shownOutcome(outcome: Outcome): Html {
  if ("refused" in outcome) return html`<p class="notice sticky" role="alert">${outcome.refused}</p>`;
  if (findTestCall(outcome.done) === null) return html``;
  return html`<p class="notice sticky done" role="status">Done: <code>${outcome.done}</code></p>`;
}

function faultSection(title: string, table: readonly Choice[], states: FaultState[]): Html {
  const shown = states.filter((state) => table.some(({ name }) => name === state.name));
  return html`<h3>${title}</h3>
<table class="faults"><tbody>${shown.map((state) => faultRow(state, table === callFaults))}</tbody></table>`;
}

/** The form shows the current setting, so that submitting it unchanged changes nothing. */
function faultRow({ name, description, next, share, call, hits }: FaultState, hitsCalls: boolean): Html {
  const active = next > 0 || share > 0 ? html` class="active"` : "";
  const limit = html`<label>Calls <input type="text" name="call" value="${call ?? ""}" placeholder="all"></label>`;
  return html`
<tr id="${name}"${active}><th scope="row"><code>${name}</code> <small>${hits === 1 ? "1 hit" : `${hits} hits`}</small>
<p>${description}</p></th>
<td><form class="inline" method="post" action="/#${name}"><input type="hidden" name="name" value="${name}">
<label>Next <input type="number" name="next" min="0" step="1" value="${shownNumber(next)}" placeholder="0"></label>
<label>Share <input type="number" name="share" min="0" max="1" step="any" value="${shownNumber(share)}"
 placeholder="0"></label>
${hitsCalls ? limit : ""}
${button("Set", "POST /test/faults")}</form></td></tr>`;
}

function shownNumber(value: number): string {
  return value === 0 ? "" : String(value);
}

function objectSection(world: World, { title, newest }: ShownKind): Html {
  const objects = newest(world);
  const content =
    objects.length === 0
      ? html`<p class="soft">None yet.</p>`
      : html`<table class="objects"><tbody>${objects.map(objectRow)}</tbody></table>`;
  return html`<h2 id="${anchor(title)}">${title}</h2>
${content}`;
}

function objectRow({ id, created, text, page: address, offers }: ShownObject): Html {
  const code = html`<code>${id}</code>`;
  const time = created.toISOString().replace("T", " ").slice(0, 19);
  return html`
<tr id="${id}"><th scope="row">${address === null ? code : html`<a href="${address}">${code}</a>`} <small>${time} UTC</small>
<p>${text}</p></th>
<td>${offers.map((offer) => offerForm(id, offer))}</td></tr>`;
}

function offerForm(id: string, { label, request, body = {}, choices = {}, amount }: Offer): Html {
  const fixed = Object.entries(body).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const chosen = Object.entries(choices).map(([name, table]) => {
    const options = table.map((choice) => html`<option title="${choice.description}">${choice.name}</option>`);
    return html`<select name="${name}" aria-label="${name}">${options}</select>`;
  });
  const cents =
    amount === undefined
      ? ""
      : html`<label>Cents <input type="number" name="amountCents" min="1" step="1" placeholder="all"></label>`;
  return html`<form class="inline" method="post" action="/#${id}">${fixed}${chosen}${cents}
${button(label, request.replace(":id", id))}</form>`;
}

/** A button that submits its form. `request` is the test API call to make. */
function button(label: string, request: string): Html {
  return html`<button type="submit" name="request" value="${request}">${label}</button>`;
}

const numberFields = new Set(["amountCents", "next", "share"]);

/** Returns the call that a form of this page asks for, and its body. Empty fields are left out. */
export function readForm(form: URLSearchParams): { request: string; body: unknown } {
  const filled = [...form].filter(([name, value]) => name !== "request" && value.trim() !== "");
  const body = filled.map(([name, value]) => [name, numberFields.has(name) ? Number(value) : value]);
  return { request: form.get("request") ?? "", body: Object.fromEntries(body) };
}

function anchor(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}

function section<Row extends Choice>(title: string, table: readonly Row[], extra?: (row: Row) => Html): Html {
  const rows = table.map((choice) => {
    const more = extra === undefined ? "" : html` <small class="soft">${extra(choice)}</small>`;
    return row(choice.name, html`${choice.description}${more}`);
  });
  return html`<h3>${title}</h3>
<table><tbody>${rows}</tbody></table>`;
}

function row(name: string, description: Html): Html {
  return html`<tr><th scope="row"><code>${name}</code></th><td>${description}</td></tr>`;
}
