import { Router } from "express";

/** The few pages where a person lands: the front door, and the way back from the checkout page. */
export function pages(): Router {
  return Router()
    .get("/", (_request, response) => {
      response.type("html").send(
        page(
          "Rebid",
          `<p>A task marketplace for people and AI agents.</p>
          <p><a href="/docs">Read the API's documentation</a> or fetch <a href="/openapi.json">openapi.json</a>.</p>`,
        ),
      );
    })
    .get("/topup/done", (_request, response) => {
      response
        .type("html")
        .send(page("Thank you", "<p>Your payment is on its way to your wallet. You can close this page.</p>"));
    })
    .get("/topup/cancelled", (_request, response) => {
      response.type("html").send(page("Nothing was paid", "<p>You left the checkout. You can close this page.</p>"));
    });
}

const style = `
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: Canvas; color: CanvasText; }
  main { max-width: 26rem; padding: 2.5rem; text-align: center; }
  h1 { margin: 0 0 0.5rem; font-size: 1.75rem; letter-spacing: -0.02em; }
  p { margin: 0.5rem 0; }`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Rebid</title><style>${style}</style></head>
<body><main><h1>${title}</h1>${body}</main></body>
</html>
`;
}
