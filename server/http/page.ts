import { createHash } from "node:crypto";
import { type Response, Router } from "express";
import { faviconUrl, tokens, wordmark } from "../brand/brand.ts";
import { allowOnly } from "./sendError.ts";

/** One of the service's own HTML pages: a few sentences in the middle of the window. */
export interface HtmlPage {
  title: string;
  /** The HTML inside `main`. */
  body: string;
  /** CSS in addition to the style that all pages share. */
  style?: string;
  /** Paths on this service. A page with scripts may also send requests to this service. */
  scripts?: readonly string[];
  /** Whether the page has a form, which is sent to this service. */
  hasForm?: boolean;
}

/** Serves a page at `path`. Its Content-Security-Policy allows only the styles and scripts that the page declares. */
export function servePage(path: string, page: HtmlPage): Router {
  const send = pageSender(page);
  return Router()
    .get(path, (_request, response) => send(response))
    .all(path, allowOnly("GET"));
}

/** A page, and the policy that it is sent with. */
export const pageHtml = (page: HtmlPage) => ({ html: render(page), policy: contentSecurityPolicy(page) });

/** Returns what sends a page. */
export function pageSender(page: HtmlPage): (response: Response) => void {
  const { html, policy } = pageHtml(page);
  return (response) => void response.set("Content-Security-Policy", policy).type("html").send(html);
}

function contentSecurityPolicy({ style = "", scripts = [], hasForm = false }: HtmlPage): string {
  const inlineStyle = createHash("sha256")
    .update(sharedStyle + style)
    .digest("base64");
  return [
    "default-src 'none'",
    "img-src data:",
    `style-src 'sha256-${inlineStyle}'`,
    ...(scripts.length > 0 ? ["script-src 'self'", "connect-src 'self'"] : []),
    "base-uri 'none'",
    hasForm ? "form-action 'self'" : "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function render({ title, body, style = "", scripts = [] }: HtmlPage): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="${faviconUrl}"><title>${title === "Rebid" ? title : `${title} · Rebid`}</title>
<style>${sharedStyle}${style}</style></head>
<body><main>
<a class="brand" href="/">${wordmark}</a>
${body}
</main>
${scripts.map((path) => `<script src="${path}"></script>\n`).join("")}</body>
</html>
`;
}

const sharedStyle = `
  ${tokens}
  :root { font: 16px/1.6 var(--font-text); }
  * { box-sizing: border-box; }
  body { margin: 0; background: var(--paper); color: var(--ink); }
  h1 { margin: 0 0 0.5rem; font-size: 2rem; line-height: 1.2; letter-spacing: -0.02em; }
  a { color: var(--accent); }
  code { font: 0.875em/1.5 var(--font-code); }
  .brand { display: inline-block; margin-bottom: 2rem; color: var(--ink); }
  .brand svg { display: block; height: 1.75rem; }
  .quiet { color: var(--quiet); }`;
