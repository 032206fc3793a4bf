import MiniSearch from "minisearch";
import { addressOf, type Page } from "./page.ts";
import { type SearchEntry, searchOptions } from "./searchOptions.ts";

/** Returns the index of all pages, one entry for each heading, as the client's search loads it. */
export function searchIndexOf(pages: readonly Page[]): string {
  const index = new MiniSearch(searchOptions);
  for (const page of pages) {
    const address = addressOf(page.path);
    const isOperation = page.layout === "operation";
    index.add({
      id: address,
      title: page.title,
      page: page.section,
      kind: kindOf(page),
      // The parts of an operation's page have the same headings everywhere: it is one entry.
      text: `${page.description} ${isOperation ? page.headings.map(({ body }) => body).join(" ") : ""}`,
    });
    if (isOperation) continue;
    for (const { id, text, body } of page.headings) {
      index.add({ id: `${address}#${id}`, title: text, page: page.title, kind: kindOf(page), text: body });
    }
  }
  return JSON.stringify(index);
}

/** What the search puts first: guides explain, operations are looked up, and records list every field that there is. */
function kindOf({ path }: Page): SearchEntry["kind"] {
  if (!path.startsWith("reference")) return "guide";
  return path === "reference/records" ? "record" : "operation";
}
