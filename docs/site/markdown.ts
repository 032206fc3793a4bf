import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import http from "highlight.js/lib/languages/http";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import markdownIt, { type Token } from "markdown-it";
import anchor from "markdown-it-anchor";
import { renderDiagram } from "./diagrams.ts";
import { renderThroughput } from "./growing/chart.ts";
import { escapeHtml, type Heading } from "./page.ts";

for (const [name, language] of Object.entries({ bash, go, http, json, python, sql, typescript })) {
  hljs.registerLanguage(name, language);
}
hljs.registerAliases(["sh", "console"], { languageName: "bash" });
hljs.registerAliases(["ts"], { languageName: "typescript" });

const languageNames: Record<string, string> = {
  sh: "Shell",
  ts: "TypeScript",
  python: "Python",
  go: "Go",
  json: "JSON",
  sql: "SQL",
  http: "HTTP",
};

/** The anchors that GitHub gives to headings, so that links work in the repository and here. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

const markdown = markdownIt({ html: true }).use(anchor, {
  slugify: slugOf,
  permalink: anchor.permalink.headerLink({ safariReaderFix: true }),
});

markdown.renderer.rules.fence = (tokens, index) => {
  const { info = "", content = "" } = tokens[index] ?? {};
  const [language = "", ...words] = info.trim().split(/\s+/);
  if (language === "mermaid") return renderDiagram(content);
  if (language === "throughput") return renderThroughput(content);
  return renderCode(
    content,
    language,
    words.find((word) => /^[\w-]+\.\w+$/.test(word)),
  );
};
markdown.renderer.rules.table_open = (tokens, index) =>
  `<div class="table" tabindex="0" role="region" aria-label="Table"><table${classOfTable(tokens, index)}>`;
// The policy of our pages allows no styles of an element's own.
for (const cell of ["th_open", "td_open"]) {
  markdown.renderer.rules[cell] = (tokens, index, options, _env, renderer) => {
    const token = tokens[index];
    if (token?.attrGet("style") === "text-align:right") {
      token.attrs = token.attrs?.filter(([name]) => name !== "style") ?? null;
      token.attrJoin("class", "figure");
    }
    return renderer.renderToken(tokens, index, options);
  };
}
markdown.renderer.rules.table_close = () => "</table></div>";

/** The light and the dark picture of one page: the style sheet shows the one of the reader's theme, and only that is loaded. */
markdown.renderer.rules.image = (tokens, index) => {
  const { content = "" } = tokens[index] ?? {};
  const source = escapeHtml(String(tokens[index]?.attrGet("src") ?? ""));
  const image = (theme: string) =>
    `<img class="${theme}" src="${source.replace("-light.", `-${theme}.`)}" alt="${escapeHtml(content)}" loading="lazy">`;
  return `${image("light")}${image("dark")}`;
};

/**
 * Tables of fields are shown as a list. So are, on a phone, tables of three columns or more whose rows are named by code:
 * their cells then say what their column is (`data-column`).
 */
function classOfTable(tokens: readonly Token[], start: number): string {
  const end = tokens.findIndex(({ type }, index) => index > start && type === "table_close");
  const cells = tokens.slice(start, end);
  const names = cells.flatMap(({ type }, index) => (type === "th_open" ? [cells[index + 1]?.content ?? ""] : []));
  if (names[0] === "Field") return ' class="fields"';
  const firstCell = cells[cells.findIndex(({ type }) => type === "td_open") + 1];
  if (names.length < 3 || firstCell?.children?.[0]?.type !== "code_inline") return "";
  for (const [index, cell] of cells.filter(({ type }) => type === "td_open").entries()) {
    const name = names[index % names.length] ?? "";
    if (index % names.length > 0) cell.attrSet("data-column", name.replaceAll("`", ""));
  }
  return ' class="named"';
}

/** Renders a block of code. It can be scrolled with the keyboard; the client adds a button that copies it. */
export function renderCode(code: string, language: string, fileName?: string): string {
  const text = code.trimEnd();
  const known = hljs.getLanguage(language) !== undefined;
  const html = known ? hljs.highlight(text, { language }).value : escapeHtml(text);
  // `call` is the guides' own name for curl with JSON.
  const name = language === "sh" && /\b(curl|call)\b/.test(text) ? "curl" : (languageNames[language] ?? "Text");
  const label = fileName ?? name;
  return `<figure class="code" data-language="${escapeHtml(name)}"><figcaption>${escapeHtml(label)}</figcaption>
<pre tabindex="0"><code>${html}</code></pre></figure>\n`;
}

interface Rendered {
  html: string;
  headings: Heading[];
  /** The text before the first heading. */
  lead: string;
}

/** Turns the target of a link in Markdown into an address of the site; null makes it plain text. */
export type ResolveLink = (href: string) => string | null;

/** Renders Markdown whose title, the `#` heading, has been taken off. */
export function render(source: string, resolveLink: ResolveLink = (href) => href): Rendered {
  const tokens = markdown.parse(asCallouts(source), {});
  for (const { children } of tokens) resolveLinks(children ?? [], resolveLink);
  const { lead, headings } = outlineOf(tokens);
  return { html: asTabs(markdown.renderer.render(tokens, markdown.options, {})), headings, lead };
}

function resolveLinks(tokens: Token[], resolveLink: ResolveLink): void {
  let open: Token | null = null;
  for (const token of tokens) {
    if (token.type === "link_open") {
      const href = String(token.attrGet("href") ?? "");
      const resolved = /^(https?:|mailto:|#)/.test(href) ? href : resolveLink(href);
      if (resolved === null) {
        token.tag = "span";
        token.attrs = null;
        open = token;
      } else token.attrSet("href", resolved);
    } else if (token.type === "image") {
      token.attrSet("src", resolveLink(String(token.attrGet("src") ?? "")) ?? "");
    } else if (token.type === "link_close" && open !== null) {
      token.tag = "span";
      open = null;
    }
  }
}

/** GitHub's `> [!NOTE]`, which is also readable as Markdown. */
function asCallouts(source: string): string {
  return source.replace(/^> \[!(NOTE|TIP|WARNING)\]\n((?:>.*\n?)+)/gm, (_all, kind: string, quoted: string) => {
    const text = quoted.replace(/^> ?/gm, "");
    return `<aside class="callout ${kind.toLowerCase()}">\n\n${text}\n\n</aside>\n`;
  });
}

/** Blocks between `<!-- tabs -->` and `<!-- /tabs -->` say the same in several languages. */
const asTabs = (html: string) =>
  html.replaceAll("<!-- tabs -->", '<div class="tabs">').replaceAll("<!-- /tabs -->", "</div>");

function outlineOf(tokens: readonly Token[]): Pick<Rendered, "headings" | "lead"> {
  const headings: Heading[] = [];
  let lead = "";
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open" && (token.tag === "h2" || token.tag === "h3")) {
      const text = plainText(tokens[index + 1]);
      headings.push({ level: token.tag === "h2" ? 2 : 3, id: String(token.attrGet("id") ?? ""), text, body: "" });
    } else if (token.type === "inline" && tokens[index - 1]?.type !== "heading_open") {
      const text = plainText(token);
      const last = headings.at(-1);
      if (last === undefined) lead += `${text} `;
      else last.body += `${text} `;
    }
  }
  return { headings, lead };
}

function plainText(token: Token | undefined): string {
  const parts = token?.children ?? [];
  return parts
    .filter(({ type }) => type === "text" || type === "code_inline" || type === "softbreak")
    .map(({ type, content }) => (type === "softbreak" ? " " : content))
    .join("")
    .trim();
}
