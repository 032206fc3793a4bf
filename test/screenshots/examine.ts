import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

/** For `addInitScript`, where many pages are examined: it takes as long to send as a page takes to load. */
export const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  help: string;
  nodes: { target: unknown[] }[];
}

/**
 * Returns what is wrong with a page as it is shown now: what axe calls serious or critical, and content that is wider than
 * the window. One line each. axe takes a second for a long page: `within` and `options`, axe's own,
 * bound what it looks at and for. What it would load beforehand, style sheets and films, only a rule about sound that plays by
 * itself looks at, which is none of the serious ones.
 */
export async function examine(
  page: Page,
  { within, options }: { within?: { include: string[]; exclude?: string[] }; options?: object } = {},
): Promise<string[]> {
  const parameters = [within ?? { include: ["html"] }, { resultTypes: ["violations"], preload: false, ...options }];
  const look = () =>
    page.evaluate<{ violations: Violation[]; overflow: number } | null>(`"axe" in window
      ? axe.run(...${JSON.stringify(parameters)}).then(({ violations }) =>
          ({ violations, overflow: document.documentElement.scrollWidth - innerWidth }))
      : null`);
  let found = await look();
  if (found === null) {
    // Not with a script element, which the page's own policy would refuse.
    await page.evaluate(axeSource);
    found = await look();
  }
  if (found === null) throw new Error("axe is not in the page");
  const { violations, overflow } = found;
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return [
    ...serious.map(
      ({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ target }) => target.join(" ")).join(", ")})`,
    ),
    ...(overflow > 0 ? [`the page is ${overflow} pixels wider than the window`] : []),
  ];
}
