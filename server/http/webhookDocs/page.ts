import { readFileSync } from "node:fs";
import { Router } from "express";
import { eventCatalogue } from "../../schemas/event.ts";
import { exampleEvent } from "../../webhooks/sample.ts";
import { allowOnly } from "../answer.ts";

/** The languages that the page shows; test/webhooks/docs.test.ts runs the very files. */
export const snippets = [
  { language: "TypeScript", file: "verify.ts" },
  { language: "Python", file: "verify.py" },
  { language: "Go", file: "verify.go" },
  { language: "Shell and openssl", file: "verify.sh" },
] as const;

/** Where a snippet's source is. */
export const snippetPath = (file: (typeof snippets)[number]["file"]) => new URL(file, import.meta.url);

const policy =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `/docs/webhooks`: how to receive events and verify their signatures. */
export function webhookDocs(): Router {
  const page = render();
  return Router()
    .get("/docs/webhooks", (_request, response) => {
      response.set("Content-Security-Policy", policy).type("html").send(page);
    })
    .all("/docs/webhooks", allowOnly("GET"));
}

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
const code = (text: string) => `<pre tabindex="0"><code>${escapeHtml(text.trim())}</code></pre>`;

function render(): string {
  const sections = snippets.map(
    ({ language, file }) => `<h3>${language}</h3>${code(readFileSync(snippetPath(file), "utf8"))}`,
  );
  const rows = Object.entries(eventCatalogue).map(
    ([type, { when, to }]) => `<tr><td><code>${type}</code></td><td>${when}</td><td>${to}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Webhooks · Rebid</title><style>${style}</style></head>
<body><main>
<p class="quiet"><a href="/">Rebid</a> · <a href="/docs">API reference</a></p>
<h1>Webhooks</h1>
<p>Register an HTTPS address, and Rebid sends it a POST within a second or so whenever something happens that concerns you.</p>
<nav><a href="#register">Register</a> <a href="#receive">Receive</a> <a href="#verify">Verify</a> <a href="#retries">Retries</a>
<a href="#off">Switched off</a> <a href="#replay">Test and replay</a> <a href="#develop">Develop</a></nav>

<h2 id="register">Register an endpoint</h2>
${code(`curl https://your-rebid/webhooks \\
  -H "Authorization: Bearer rb_live_…" -H "Content-Type: application/json" \\
  -d '{ "url": "https://example.com/rebid", "events": ["task.created", "bid.received"] }'`)}
<p>The answer contains the endpoint's <code>signingSecret</code>, <code>whsec_…</code>. It is shown only once: store it where
your receiver can read it. To replace it, register the same address again, let your receiver accept either secret, and delete
the old endpoint once its deliveries have ended. Until then each event arrives from both, with the same <code>id</code>.</p>
<p>The address must be public: private and loopback addresses are refused, at registration and at every delivery. You may
register up to 20 endpoints.</p>
<div class="wide"><table><thead><tr><th>Event</th><th>Sent when</th><th>Sent to</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>

<h2 id="receive">What arrives</h2>
<p>A POST with <code>Content-Type: application/json</code>, <code>User-Agent: Rebid-Webhooks/1</code> and
<code>X-Service-Signature</code>. Fields may be added to the body over time; ignore those you do not know. The
<a href="/docs">API reference</a> shows what each event carries, and <a href="/openapi.json">the OpenAPI document</a> has its
schema under <code>webhooks</code>. An example:</p>
${code(JSON.stringify(exampleEvent("bid.received"), null, 2))}
<p>Answer with any 2xx status within 10 seconds, and do the work afterwards. An event can arrive more than once, and events
arrive in no particular order: remember the <code>id</code> of each event you have handled, and skip it when it arrives again.</p>

<h2 id="verify">Verify the signature</h2>
<p>The header is <code>X-Service-Signature: t=1795176000,v1=5257a869…</code>. <code>t</code> is the Unix time of this attempt.
<code>v1</code> is the hex HMAC-SHA256 of <code>t</code>, a dot and the exact bytes of the body, keyed by the whole signing
secret, prefix included. Take the body before a JSON parser touches it, compute the same value, compare in constant time, and
refuse a <code>t</code> that differs from your clock by more than five minutes.</p>
${sections.join("\n")}
<p>Stripe uses the same scheme, so <code>stripe.webhooks.constructEvent(body, header, signingSecret)</code>, in any of Stripe's
libraries, verifies it too.</p>

<h2 id="retries">Retries</h2>
<p>After a 5xx answer, a time-out or a connection error, Rebid tries again after about 30 seconds, 2 minutes, 10 minutes,
1 hour and 6 hours. Every 3xx and 4xx answer is final, including 408 and 429: answer 503 if you want the event again later.
Redirects are not followed.</p>
<p>An endpoint is sent up to four requests at a time at first, up to 64 while it answers within a second, and up to 16 while
it takes longer. If an endpoint does not answer, its queue is worked through oldest first, and retries can be later than above.</p>
<p>Every delivery is kept for 30 days from its <code>createdAt</code>, whatever its outcome.
<code>GET /webhooks/{id}/deliveries?status=failed</code> shows every attempt, with its time, status code, duration and error.
Older deliveries cannot be replayed.</p>

<h2 id="off">Switched off</h2>
<p>An endpoint is switched off when it answers <code>410 Gone</code>, or fails 100 times in a row over at least 3 days.
<code>active</code> is then false, and what was still to be sent is kept as failed. Only a test or a replay, as below, switches
it on again.</p>
<p><b>Nothing that happens while an endpoint is off is ever sent to it</b>: no deliveries are made, so there is nothing to
replay. Once it is on again, catch up with <code>GET /me/tasks</code>, <code>GET /tasks</code> and the like. The same holds
while an account is suspended.</p>

<h2 id="replay">Test and replay</h2>
<ul>
<li><code>POST /webhooks/{id}/test</code> sends a sample of the endpoint's first event, once.</li>
<li><code>POST /webhooks/deliveries/{id}/replay</code> sends one delivery again: the same <code>id</code> and body, a new
signature, one attempt.</li>
<li><code>POST /webhooks/{id}/replay</code> with <code>{ "since": "2026-11-20T00:00:00Z" }</code> does the same for every
delivery that has failed for good since then, whenever its event happened.</li>
</ul>
<p>Each of them switches the endpoint on again if it was off.</p>

<h2 id="develop">While you develop</h2>
<p>With your own Rebid (<code>npm start</code>) you need no public address. This command</p>
${code("npm run listen -- --events task.created,bid.received --forward-to http://localhost:4242/rebid")}
<p>prints events as they happen and forwards them, signed with a secret that it shows.</p>
</main></body>
</html>
`;
}

const style = `
  :root { color-scheme: light dark; --accent: light-dark(#1f6f5c, #6fcfb5); --quiet: light-dark(#5c6470, #a2a9b4);
    --line: light-dark(#dfe1dc, #32363d); --panel: light-dark(#f1f2ee, #1e2126); font: 16px/1.6 system-ui, sans-serif; }
  * { box-sizing: border-box; }
  body { margin: 0; background: light-dark(#fafaf8, #16181c); color: light-dark(#1d2127, #e8eaed); }
  main { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; }
  h1 { margin: 0 0 0.5rem; font-size: 2rem; line-height: 1.2; letter-spacing: -0.02em; }
  h2 { margin: 2.75rem 0 0.5rem; font-size: 1.35rem; letter-spacing: -0.01em; }
  h3 { margin: 1.5rem 0 0.5rem; font-size: 1rem; }
  a { color: var(--accent); }
  nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
  .quiet { color: var(--quiet); }
  code { font: 0.875em/1.5 ui-monospace, monospace; }
  pre { tab-size: 2; margin: 0.75rem 0; padding: 1rem 1.25rem; overflow-x: auto; border: 1px solid var(--line); border-radius: 0.5rem;
    background: var(--panel); }
  .wide { overflow-x: auto; }
  table { width: 100%; border-collapse: collapse; font-size: 0.95rem; }
  th, td { padding: 0.5rem 1rem 0.5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
  th { font-weight: 600; color: var(--quiet); }
  li { margin: 0.35rem 0; }`;
