import { Refusal } from "../model/refusal.ts";
import type { World } from "../model/world.ts";
import { paySession } from "../resources/checkout.ts";
import { isUsable, useLink } from "../resources/onboarding.ts";
import { runTestCall } from "../testApi/run.ts";
import { checkoutPage, chosenOutcome } from "./checkoutPage.ts";
import { homePage, readForm } from "./homePage.ts";
import { chosenOnboarding, onboardingPage } from "./onboardingPage.ts";

interface PageResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Handles a request for a page or from one of its forms. Returns null if the path does not belong to a page. */
export function handlePage(world: World, method: string, url: URL, body: Buffer): PageResponse | null {
  const [, place, id = "", action] = url.pathname.split("/");
  if (place === "" && method === "GET") return home(world, url.searchParams.get("done"));
  if (place === "" && method === "POST") return press(world, body);
  if (place === "checkout" && method === "GET" && action === undefined) {
    return document(200, checkoutPage(world.store.get("checkout.session", id)));
  }
  if (place === "checkout" && method === "POST" && action === "pay") return pay(world, id, body);
  if (place === "onboarding" && action === undefined) return onboarding(world, method, id, body);
  return null;
}

function home(world: World, done: string | null): PageResponse {
  return document(200, homePage(world, done === null ? null : { done }));
}

/** Runs the test API call of a button on the start page. If the call is refused, the page shows why. */
function press(world: World, body: Buffer): PageResponse {
  const { request, body: fields } = readForm(new URLSearchParams(body.toString("utf8")));
  try {
    runTestCall(world, request, fields);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return document(error.status, homePage(world, { refused: error.message }));
  }
  return redirect(`/?${new URLSearchParams({ done: request })}`);
}

/**
 * Handles the form of the checkout page. A script can post it too: `outcome=pays`, urlencoded, to `<checkout url>/pay`.
 * Redirects (303) to the success URL, or responds with 402 if the card was declined.
 */
function pay(world: World, id: string, body: Buffer): PageResponse {
  const session = world.store.get("checkout.session", id);
  if (session.status !== "open") return document(409, checkoutPage(session));
  const outcome = chosenOutcome(new URLSearchParams(body.toString("utf8")));
  if (outcome === null) return document(400, checkoutPage(session, "This outcome does not exist."));
  const address = world.store.transaction(() => paySession(world, id, outcome));
  return address === null
    ? document(402, checkoutPage(session, "Your card was declined. Try another card."))
    : redirect(address);
}

/** Handles the onboarding page. Like Stripe, redirects to the refresh URL if the link has expired or been used. */
function onboarding(world: World, method: string, id: string, body: Buffer): PageResponse | null {
  const link = world.store.get("v2.core.account_link", id);
  if (!isUsable(world, link)) return redirect(link.refreshUrl);
  const account = world.store.get("v2.core.account", link.account);
  if (method === "GET") return document(200, onboardingPage(link, account));
  if (method !== "POST") return null;
  const choice = chosenOnboarding(new URLSearchParams(body.toString("utf8")));
  if (choice === null) return document(400, onboardingPage(link, account, "This choice does not exist."));
  return redirect(world.store.transaction(() => useLink(world, link, choice.outcome, choice.bank)));
}

function document(status: number, body: string): PageResponse {
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy":
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'none'",
  };
  return { status, headers, body };
}

function redirect(location: string): PageResponse {
  return { status: 303, headers: { Location: location, "Cache-Control": "no-store" }, body: "" };
}
