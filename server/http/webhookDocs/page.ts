import { readFileSync } from "node:fs";
import type { Router } from "express";
import { eventCatalogue } from "../../schemas/event.ts";
import { exampleEvent } from "../../webhooks/sample.ts";
import { servePage } from "../page.ts";

/** The snippets on the page. test/http/webhookDocs.test.ts runs these files. */
export const snippets = [
  { language: "TypeScript", file: "verify.ts" },
  { language: "Python", file: "verify.py" },
  { language: "Go", file: "verify.go" },
  { language: "Shell and openssl", file: "verify.sh" },
] as const;

/** Returns the location of a snippet's source. */
export const snippetPath = (file: (typeof snippets)[number]["file"]) => new URL(file, import.meta.url);

/** `/docs/webhooks`: how to receive events, and how to verify that they come from us. */
export function webhookDocs(): Router {
  return servePage("/docs/webhooks", { title: "Webhooks", layout: "article", style, body: renderBody() });
}

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
const code = (text: string) => `<pre tabindex="0"><code>${escapeHtml(text.trim())}</code></pre>`;

function renderBody(): string {
  const sections = snippets.map(
    ({ language, file }) => `<h3>${language}</h3>${code(readFileSync(snippetPath(file), "utf8"))}`,
  );
  const rows = Object.entries(eventCatalogue).map(
    ([type, { when, to }]) => `<tr><td><code>${type}</code></td><td>${when}</td><td>${to}</td></tr>`,
  );
  return `<p class="quiet"><a href="/">Rebid</a> · <a href="/docs">API reference</a></p>
<h1>Webhooks</h1>
<p>Register an HTTPS address, and Rebid sends it a POST request within about a second when something happens that concerns you.</p>
<nav><a href="#register">Register</a> <a href="#receive">Receive</a> <a href="#verify">Verify</a> <a href="#retries">Retries</a>
<a href="#off">Switching off</a> <a href="#replay">Test and replay</a> <a href="#develop">Develop</a></nav>

<h2 id="register">Register an endpoint</h2>
${code(`curl https://your-rebid/webhooks \\
  -H "Authorization: Bearer rb_live_…" -H "Content-Type: application/json" \\
  -d '{ "url": "https://example.com/rebid", "events": ["task.created", "bid.received"] }'`)}
<p>The response contains the endpoint's <code>signingSecret</code>, <code>whsec_…</code>. It is shown only once: store it where
your receiver can read it. To replace it, register the address again, let your receiver accept either secret, and delete the
old endpoint when its deliveries are done. Until then each event arrives from both endpoints, with the same <code>id</code>.
The address must be public: private and loopback addresses are refused, at registration and at every delivery. You can have
up to 20 endpoints.</p>
<div class="wide"><table><thead><tr><th>Event</th><th>Sent when</th><th>Sent to</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>

<h2 id="receive">Receive events</h2>
<p>Each event is a POST request with <code>Content-Type: application/json</code>, <code>User-Agent: Rebid-Webhooks/1</code> and
<code>X-Service-Signature</code>. The body may gain fields over time, so ignore fields that you do not know. What each event
contains is in the <a href="/docs#/webhooks">API reference</a>, and its schema in <a href="/openapi.json">the OpenAPI
document</a>, under <code>webhooks</code>. Long texts are shortened to their first 500 characters; a flag such as
<code>notesTruncated</code> says where, and <code>GET /bids/{id}</code> and so on have the whole text. An example:</p>
${code(JSON.stringify(exampleEvent("bid.received"), null, 2))}
<p>Respond with any 2xx status within 10 seconds, and do the work afterwards. The same event can arrive more than once, and
events can arrive in any order: remember the <code>id</code> of each event that you have handled, and skip it if it arrives
again.</p>

<h2 id="verify">Verify the signature</h2>
<p>The header is <code>X-Service-Signature: t=1795176000,v1=5257a869…</code>, where <code>t</code> is the Unix time of this
attempt and <code>v1</code> the hex HMAC-SHA256 of <code>t</code>, a dot and the exact bytes of the body, keyed by the whole
signing secret. To verify it, take the raw body before any JSON parser, compute the same HMAC, compare in constant time, and
refuse a <code>t</code> more than five minutes from now.</p>
${sections.join("\n")}
<p>Stripe uses the same scheme. <code>stripe.webhooks.constructEvent(body, header, signingSecret)</code>, in any of
Stripe's libraries, also verifies it.</p>

<h2 id="retries">Retries</h2>
<p>After a 5xx response, a timeout or a connection error, Rebid tries again after about 30 seconds, 2 minutes, 10 minutes,
1 hour and 6 hours. Every 3xx and 4xx is final, including 408 and 429: to receive the event later, respond with 503. Redirects are
not followed.</p>
<p>At first an endpoint gets up to four requests at a time; later up to 64 while it responds within a second, and up to 16
while it takes longer. An endpoint that does not respond gets its queue one by one, oldest first, so retries can come later
than stated above.</p>
<p>A delivery that succeeded is kept for 30 days from its <code>createdAt</code>, a failed one until a replay succeeds or its
endpoint is deleted. <code>GET /webhooks/{id}/deliveries?status=failed</code> shows every attempt, with its time, status code,
duration and error.</p>

<h2 id="off">Switching off</h2>
<p>An endpoint is switched off when it responds with <code>410 Gone</code>, or fails 100 times in a row over at least 3 days:
<code>active</code> becomes false, and its pending deliveries become failed. Only a test or a replay, as described below,
switches it on again.</p>
<p><b>An endpoint that is switched off misses what happens meanwhile</b>: no deliveries are created for it, so they cannot be replayed
either. After switching it on again, read what you missed with <code>GET /me/tasks</code>, <code>GET /tasks</code> and so on. The
same applies while an account is suspended.</p>

<h2 id="replay">Test and replay</h2>
<ul>
<li><code>POST /webhooks/{id}/test</code> sends a sample of the endpoint's first event, once.</li>
<li><code>POST /webhooks/deliveries/{id}/replay</code> sends one delivery again, with the same <code>id</code> and body and
a new signature, in a single attempt.</li>
<li><code>POST /webhooks/{id}/replay</code> with <code>{ "since": "2026-11-20T00:00:00Z" }</code> does the
same for every delivery that has failed for good since then, whenever its event happened.</li>
</ul>
<p>Each of these also switches the endpoint on again.</p>

<h2 id="develop">Develop locally</h2>
<p>With your own Rebid (<code>npm start</code>) you need no public address:</p>
${code("npm run listen -- --events task.created,bid.received --forward-to http://localhost:4242/rebid")}
<p>This prints events as they happen, and forwards them signed with the secret that it prints.</p>
`;
}

const style = `
  h2 { margin: 2.75rem 0 0.5rem; font-size: 1.35rem; letter-spacing: -0.01em; }
  h3 { margin: 1.5rem 0 0.5rem; font-size: 1rem; }
  nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
  pre { tab-size: 2; margin: 0.75rem 0; padding: 1rem 1.25rem; overflow-x: auto; border: 1px solid var(--line);
    border-radius: 0.5rem; background: var(--panel); }
  .wide { overflow-x: auto; }
  table { width: 100%; border-collapse: collapse; font-size: 0.95rem; }
  th, td { padding: 0.5rem 1rem 0.5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
  th { font-weight: 600; color: var(--quiet); }
  li { margin: 0.35rem 0; }`;
