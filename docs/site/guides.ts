import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { figuresOf } from "./growing/tables.ts";
import { type ResolveLink, render } from "./markdown.ts";
import { fileOf, type Guide, sections } from "./navigation.ts";
import { addressOf, escapeHtml, type Page } from "./page.ts";

const root = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

const pages = new Map(sections.flatMap(({ guides }) => guides.map((guide) => [fileOf(guide), guide.slug] as const)));

/** Resolves links between files: guides become pages, pictures stay; files that the site does not show become plain text. */
function linkResolver(file: string, suffix = ""): ResolveLink {
  return (href) => {
    if (href.startsWith("/")) return suffix === "" ? href : href.replace(/^(\/docs\/[^#?]+)/, `$1${suffix}`);
    const [path = "", fragment] = href.split("#", 2);
    const target = relative(root, join(root, dirname(file), path));
    if (target.startsWith("docs/pictures/")) return target.replace("docs", "/docs");
    const slug = pages.get(target);
    if (slug === undefined) return null;
    return `${addressOf(slug)}${suffix}${fragment === undefined ? "" : `#${fragment}`}`;
  };
}

/** Reads all guides, in their order. */
export function readGuides(): Page[] {
  return sections.flatMap(({ title: section, guides }) => guides.map((guide) => readGuide(guide, section)));
}

function readGuide(guide: Guide, section: string): Page {
  const file = fileOf(guide);
  const { title, description, body } = parse(expandFigures(expandIncludes(read(file), file), file));
  const summary = description ?? guide.description ?? "";
  // On the page, the footer leads there.
  const shown = body.replace(/\*\*Next:\*\* \[[^\]]+\]\([^)]+\)\.\n*$/, "");
  const { html, headings } = render(shown, linkResolver(file));
  return {
    path: guide.slug,
    title,
    description: summary,
    section,
    markdown: `# ${title}\n\n${summary === "" ? "" : `> ${summary}\n\n`}${withTwinLinks(body, file)}`,
    html: `<header><p class="eyebrow">${escapeHtml(section)}</p><h1>${escapeHtml(title)}</h1>
<p class="lead">${escapeHtml(summary)}</p></header>\n${html}`,
    headings,
  };
}

/** Splits a file into its title, its description and the rest. Front matter has only `description`. */
function parse(source: string) {
  const [, frontMatter = "", rest = source] = source.match(/^---\n([\s\S]*?)\n---\n([\s\S]*)$/) ?? [];
  const description = frontMatter.match(/^description: (.+)$/m)?.[1];
  const [heading = "", title = ""] = rest.match(/^# (.+)\n/m) ?? [];
  return { title, description, body: rest.replace(heading, "").trimStart() };
}

/**
 * Replaces `<!-- include FILE "Heading" -->` by what stands under that heading of another file, so that nothing is written
 * twice. Its own headings keep their levels, and its links are made relative to the including file.
 */
function expandIncludes(source: string, file: string): string {
  return source.replace(/^<!-- include (\S+) "([^"]+)" -->$/gm, (_all, path: string, heading: string) => {
    const from = relative(root, join(root, dirname(file), path));
    const section = sectionOf(read(from), heading);
    if (section === null) throw new Error(`${file} includes "${heading}" of ${from}, which does not exist.`);
    return section.replace(/\]\((?!https?:|\/)([^)]+)\)/g, (_link, href: string) => {
      const target = href.startsWith("#") ? from + href : join(dirname(from), href);
      return `](${relative(dirname(file), target)})`;
    });
  });
}

/** Replaces `<!-- figures NAME -->` by a table of what was measured, or what follows from it. */
function expandFigures(source: string, file: string): string {
  return source.replace(/^<!-- figures (\w+) -->$/gm, (_all, name: string) => {
    const figures = figuresOf(name);
    if (figures === undefined) throw new Error(`${file} shows figures "${name}", which do not exist.`);
    return figures;
  });
}

/** Returns what stands under a heading, up to the next one of its level; null if there is no such heading. */
function sectionOf(source: string, heading: string): string | null {
  const lines = source.split("\n");
  const start = lines.findIndex((line) => line.replace(/^#+ /, "") === heading && line.startsWith("#"));
  if (start < 0) return null;
  const level = lines[start]?.match(/^#+/)?.[0].length ?? 1;
  let isCode = false;
  const end = lines.findIndex((line, index) => {
    if (line.startsWith("```")) isCode = !isCode;
    return index > start && !isCode && new RegExp(`^#{1,${level}} `).test(line);
  });
  return lines
    .slice(start + 1, end < 0 ? undefined : end)
    .join("\n")
    .trim();
}

/**
 * In the Markdown version of a page, links lead to other Markdown versions, so that an agent that reads Markdown stays with
 * Markdown. It has no pictures.
 */
function withTwinLinks(body: string, file: string): string {
  const resolve = linkResolver(file, ".md");
  return body
    .replace(/^<!--.*-->\n/gm, "")
    .replace(/^!\[.*\n+/gm, "")
    .replace(/\[([^\]]+)\]\((?!https?:|#)([^)]+)\)/g, (_all, text: string, href: string) => {
      const resolved = resolve(href);
      return resolved === null ? text : `[${text}](${resolved})`;
    });
}
