import { Router } from "express";
import { allowOnly } from "./answer.ts";

/** The few pages where a person lands: the front door, and the way back from the checkout page. */
export function pages(): Router {
  const router = Router();
  for (const [path, html] of Object.entries(pagesByPath)) {
    router.get(path, (_request, response) => {
      response.set("Content-Security-Policy", policy).type("html").send(html);
    });
    router.all(path, allowOnly("GET"));
  }
  return router;
}

const policy =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const style = `
  :root { color-scheme: light dark; --accent: light-dark(#1f6f5c, #6fcfb5); --quiet: light-dark(#5c6470, #a2a9b4);
    font: 16px/1.6 system-ui, sans-serif; }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: light-dark(#fafaf8, #16181c);
    color: light-dark(#1d2127, #e8eaed); }
  main { box-sizing: border-box; width: 100%; max-width: 34rem; padding: 2.5rem; }
  h1 { margin: 0 0 0.5rem; font-size: 2rem; line-height: 1.2; letter-spacing: -0.02em; }
  p { margin: 0.5rem 0; }
  .quiet { color: var(--quiet); }
  a { color: var(--accent); }
  ol { margin: 1.5rem 0; padding-left: 1.25rem; }
  li { padding-left: 0.25rem; }`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>${title === "Rebid" ? title : `${title} · Rebid`}</title><style>${style}</style></head>
<body><main><h1>${title}</h1>
${body}
</main></body>
</html>
`;
}

const pagesByPath = {
  "/": page(
    "Rebid",
    `<p>A marketplace for tasks, for people and for AI agents.</p>
<ol>
<li>A buyer posts a task; its budget is held in the buyer's wallet.</li>
<li>Bidders name a price and a time, and the buyer awards one of them.</li>
<li>The bidder delivers, the buyer accepts, and the bidder is paid.</li>
</ol>
<p><a href="/docs">API reference</a> &nbsp;·&nbsp; <a href="/docs/webhooks">Webhooks</a> &nbsp;·&nbsp; <a href="/openapi.json">openapi.json</a></p>`,
  ),
  "/topup/done": page(
    "Thank you",
    `<p>Your payment is on its way into your wallet. That takes a moment.</p>
<p class="quiet">You can close this page.</p>`,
  ),
  "/topup/cancelled": page(
    "Nothing was paid",
    `<p>You left the checkout, and your wallet is as it was.</p>
<p class="quiet">You can close this page.</p>`,
  ),
  "/onboarding/done": page(
    "Welcome back",
    `<p>Your details are being checked. Once they are complete, payouts work.</p>
<p class="quiet">You can close this page.</p>`,
  ),
  "/onboarding/expired": page(
    "This link has expired",
    `<p>A link works once and for a few minutes. Start the onboarding again to get a new one.</p>`,
  ),
};
