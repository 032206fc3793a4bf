import type { OAuthOptions } from "../auth/oauth/provider.ts";
import { pageHtml } from "./page.ts";

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Answers a browser with a page, and everybody else with the protocol's JSON. */
export const oauthErrorPage: OAuthOptions["showError"] = (context, { error, error_description: description = "" }) => {
  const isPage = context.path.startsWith("/oauth/authorize") && context.accepts("json", "html") === "html";
  if (!isPage) {
    context.body = { error, ...(description !== "" && { error_description: description }) };
    return;
  }
  const { html, policy } = pageHtml({
    title: "This app could not be connected",
    body: `<h1>This app could not be connected</h1>
<p>Its request is not one that Rebid can answer. Nothing was allowed.</p>
<p class="quiet">For the app's developer: <code>${escapeHtml(error)}</code> ${escapeHtml(description)}</p>`,
  });
  context.set("Content-Security-Policy", policy);
  context.type = "html";
  context.body = html;
};
