import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Router } from "express";
import type { AppRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { allowOnly } from "./answer.ts";
import { openApiDocument } from "./openApi.ts";

const SCRIPT_PATH = "/docs/reference.js";

/**
 * The viewer comes with a development dependency of 290 packages, of which this one file is served. A production image
 * without them copies the package's `package.json` and this file, or goes without: then the page shows where the contract is.
 */
function findViewer(): string | null {
  try {
    return createRequire(import.meta.url).resolve("@scalar/api-reference/browser/standalone.js");
  } catch {
    return null;
  }
}

/** Only what we serve ourselves runs and is fetched; the viewer styles its parts inline. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The contract as a document, and for people as pages; both are made at the first request for them. */
export function documentation(router: AppRouter, { settings }: Services): Router {
  let document: unknown;
  let script: Promise<Buffer> | undefined;
  const viewer = findViewer();
  return Router()
    .get("/openapi.json", (_request, response) => {
      document ??= openApiDocument(router, settings.publicUrl);
      response.json(document);
    })
    .get("/docs", (_request, response) => {
      response
        .set("Content-Security-Policy", policy)
        .type("html")
        .send(viewer === null ? pageWithoutViewer : page);
    })
    .get("/docs/settings.js", (_request, response) => {
      response.type("js").send(settingsScript);
    })
    .get(SCRIPT_PATH, async (_request, response, next) => {
      if (viewer === null) return next("router");
      script ??= readFile(viewer);
      response
        .set("Cache-Control", "public, max-age=86400")
        .type("js")
        .send(await script);
    })
    .all(["/openapi.json", "/docs", "/docs/settings.js", SCRIPT_PATH], allowOnly("GET"));
}

const theme = `
  :root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace; --scalar-radius: 6px; }
  body { margin: 0; }
  .light-mode { --scalar-color-accent: #1f6f5c; --scalar-background-accent: #1f6f5c14; }
  .dark-mode { --scalar-color-accent: #6fcfb5; --scalar-background-accent: #6fcfb51f; }`;

const settingsScript = `Scalar.createApiReference("#reference", ${JSON.stringify({
  url: "/openapi.json",
  theme: "default",
  customCss: theme,
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: "direct",
  defaultOpenFirstTag: false,
  orderSchemaPropertiesBy: "preserve",
  orderRequiredPropertiesFirst: false,
  authentication: { preferredSecurityScheme: "apiKey" },
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
})});
`;

const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>API reference · Rebid</title>`;

const page = `<!doctype html>
<html lang="en">
<head>${head}
<style>${theme}</style></head>
<body><div id="reference"></div>
<noscript>This page needs JavaScript; the contract itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="${SCRIPT_PATH}"></script><script src="/docs/settings.js"></script></body>
</html>
`;

const pageWithoutViewer = `<!doctype html>
<html lang="en">
<head>${head}</head>
<body><p>The viewer is not installed here; the contract itself is at <a href="/openapi.json">/openapi.json</a>.</p></body>
</html>
`;
