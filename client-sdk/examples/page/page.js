/**
 * A page without a build step that shows open tasks. `npm run build -w client-sdk`, serve `client-sdk/`, and open
 * `/examples/page/?service=http://localhost:3000`. The service allows pages of `http://localhost` in development, and those
 * of `CORS_ORIGINS` or `APP_ORIGINS` in production.
 */
import { Rebid, RebidConnectionError } from "../../dist/index.js";

const service = new URLSearchParams(location.search).get("service") ?? "http://localhost:3000";
const rebid = new Rebid({ baseUrl: service });
const [form, status, list] = ["form", "[role=status]", "ul"].map((selector) => document.querySelector(selector));

/** Only the latest search may show what it finds. */
let search = new AbortController();

async function show() {
  search.abort();
  search = new AbortController();
  const { signal } = search;
  const query = new FormData(form).get("query") || undefined;
  try {
    const { tasks } = await rebid.tasks.list({ query, limit: 20 }, { signal }).page();
    list.replaceChildren(...tasks.map(rowOf));
    status.textContent = tasks.length === 0 ? "Nothing is open." : `${tasks.length} newest`;
  } catch (error) {
    if (signal.aborted) return;
    status.textContent = error instanceof RebidConnectionError ? `${service} cannot be reached.` : error.message;
  }
}

function rowOf({ title, maxBudgetCents }) {
  const [row, name, budget] = ["li", "span", "strong"].map((element) => document.createElement(element));
  name.textContent = title; // never innerHTML: a title is anybody's text
  budget.textContent = (maxBudgetCents / 100).toLocaleString("en-US", { style: "currency", currency: "USD" });
  row.append(name, budget);
  return row;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
show();
