import { wordmark } from "../../server/brand/brand.ts";
import { sections } from "./navigation.ts";
import { addressOf, escapeHtml, markdownAddressOf, type Page } from "./page.ts";
import type { ReferenceGroup } from "./reference/pages.ts";

/** What every page of the site has around it. */
export interface Frame {
  pages: readonly Page[];
  groups: readonly ReferenceGroup[];
  assets: Assets;
}

/** Addresses of the built files. */
export interface Assets {
  main: string;
  theme: string;
  styles: readonly string[];
  /** Fonts that every page needs at once. */
  fonts: readonly string[];
}

/** Renders a page as a whole document, without inline scripts and styles. */
export function renderPage(page: Page, frame: Frame): string {
  const { assets } = frame;
  const title = page.path === "" ? "Rebid documentation" : `${page.title} · Rebid`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(page.description)}">
<link rel="icon" href="/docs/favicon.svg" type="image/svg+xml">
<link rel="alternate" type="text/markdown" href="${markdownAddressOf(page.path)}">
<script src="${assets.theme}"></script>
${assets.fonts.map((href) => `<link rel="preload" href="${href}" as="font" type="font/woff2" crossorigin>`).join("\n")}
${assets.styles.map((href) => `<link rel="stylesheet" href="${href}">`).join("\n")}
<script type="module" src="${assets.main}"></script>
</head>
<body class="${page.layout ?? "guide"}">
<a class="skip" href="#content">Skip to the content</a>
${topBar()}
<div class="frame">
${navigation(page, frame)}
<main id="content" tabindex="-1">
<article>${page.html}</article>
${page.layout === "home" ? "" : footer(page, frame.pages)}
</main>
${page.layout === undefined ? outline(page) : ""}
</div>
<dialog class="search" aria-label="Search"></dialog>
</body>
</html>
`;
}

function topBar(): string {
  return `<header class="top">
<button class="menu icon" type="button" aria-expanded="false" aria-controls="navigation" aria-label="Menu">${icon("M4 7h16M4 12h16M4 17h16")}</button>
<a class="brand" href="/docs">${wordmark}<span>Docs</span></a>
<button class="find" type="button" aria-label="Search">${icon("M11 4a7 7 0 1 1 0 14a7 7 0 0 1 0-14M16 16l4 4")}<span>Search</span><kbd>/</kbd></button>
<nav aria-label="Rebid"><a href="/docs/first-task">Guides</a><a href="/docs/reference">Reference</a><a href="/">Open Rebid</a></nav>
<button class="theme icon" type="button" aria-label="Dark theme" aria-pressed="false">${icon("M12 4a8 8 0 1 0 8 8a6 6 0 0 1-8-8")}</button>
</header>`;
}

const icon = (path: string) =>
  `<svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="${path}"/></svg>`;

function navigation(current: Page, { pages, groups }: Frame): string {
  const titles = new Map(pages.map(({ path, title }) => [path, title]));
  const link = (path: string, text = titles.get(path) ?? path) =>
    `<li><a href="${addressOf(path)}"${path === current.path ? ' aria-current="page"' : ""}>${text}</a></li>`;
  const guides = sections.map(
    ({ title, guides }) => `<h2>${title}</h2>\n<ul>${guides.map(({ slug }) => link(slug)).join("")}</ul>`,
  );
  const reference = groups.map(({ name, routes }) => {
    const open = current.path.startsWith(`reference/${name}/`) ? " open" : "";
    const items = routes.map(({ slug, summary }) => link(`reference/${slug}`, escapeHtml(summary)));
    return `<details${open}><summary>${name === "keys" ? "API keys" : name.charAt(0).toUpperCase() + name.slice(1)}</summary><ul>${items.join("")}</ul></details>`;
  });
  return `<nav id="navigation" class="side" aria-label="Documentation">
${guides.join("\n")}
<h2>Reference</h2>
<ul>${link("reference", "All operations")}${link("reference/records")}</ul>
${reference.join("\n")}
</nav>`;
}

function outline({ headings }: Page): string {
  const items = headings.filter(({ level }) => level === 2);
  if (items.length < 2) return "<div></div>";
  const links = items.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${links.join("")}</ul></nav>`;
}

/** Says what to read next, and where the page is as Markdown. */
function footer(page: Page, pages: readonly Page[]): string {
  const order = pages.filter(({ layout }) => layout !== "home");
  const index = order.findIndex(({ path }) => path === page.path);
  const neighbour = (other: Page | undefined, label: string, side: string) =>
    other === undefined
      ? "<span></span>"
      : `<a class="${side}" href="${addressOf(other.path)}"><small>${label}</small>${escapeHtml(other.title)}</a>`;
  return `<footer><nav class="neighbours" aria-label="Pages before and after">
${neighbour(order[index - 1], "Before", "before")}
${neighbour(order[index + 1], "Next", "next")}
</nav>
<p><a href="${markdownAddressOf(page.path)}">This page as Markdown</a> <a href="/llms.txt">llms.txt</a> <a href="/openapi.json">openapi.json</a></p></footer>`;
}
