import { createHash } from "node:crypto";
import { renderMermaidSVG } from "beautiful-mermaid";
import { escapeHtml } from "./page.ts";

/**
 * Draws a Mermaid diagram as inline SVG without styles of its own: the site's stylesheet has its colours, for both themes,
 * and a Content-Security-Policy without inline styles allows it.
 */
export function renderDiagram(source: string): string {
  // The fonts of a picture are measured without a browser; a line of its own keeps long labels short.
  const svg = renderMermaidSVG(source, { transparent: true, padding: 4 })
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/\sstyle="[^"]*"/g, "")
    .replace(/(viewBox="0 0 )([\d.]+) ([\d.]+)" width="[\d.]+" height="[\d.]+"/, (_all, start, width, height) => {
      const [w, h] = [Math.ceil(Number(width)), Math.ceil(Number(height))];
      return `${start}${w} ${h}" width="${w}" height="${h}"`;
    });
  return `<figure class="diagram" tabindex="0" role="img" aria-label="${escapeHtml(summaryOf(source))}">${withOwnIds(svg, source)}</figure>\n`;
}

/** Several diagrams on a page must not share the ids of their arrowheads. */
function withOwnIds(svg: string, source: string): string {
  const prefix = createHash("sha256").update(source).digest("hex").slice(0, 6);
  return svg.replace(/id="([\w-]+)"/g, `id="d${prefix}-$1"`).replace(/url\(#([\w-]+)\)/g, `url(#d${prefix}-$1)`);
}

/** What somebody who cannot see the picture is told: its kind. The text around it says the same as the picture. */
function summaryOf(source: string): string {
  const kinds: Record<string, string> = {
    sequenceDiagram: "Sequence diagram",
    "stateDiagram-v2": "State diagram",
    flowchart: "Flow chart",
  };
  const [kind = ""] = source.trim().split(/\s/, 1);
  return `${kinds[kind] ?? "Diagram"}; its steps are also described in the text`;
}
