import type { Options } from "minisearch";

/** What the search knows of a heading. `id` is its address. */
export interface SearchEntry {
  id: string;
  title: string;
  /** The page that it stands on. */
  page: string;
  kind: "guide" | "operation" | "record";
  text: string;
}

/** How much a hit of each kind counts. */
const weights: Record<SearchEntry["kind"], number> = { guide: 1, operation: 0.7, record: 0.25 };

const weightOf = (kind: unknown): number => (kind === "operation" || kind === "record" ? weights[kind] : weights.guide);

/** The options with which the index is made and read. Codes such as `bid.received` are found whole and by their parts. */
export const searchOptions: Options<SearchEntry> = {
  fields: ["title", "page", "text"],
  storeFields: ["title", "page", "kind", "text"],
  tokenize: (text) => {
    const words = text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}._:-]*/gu) ?? [];
    return words.flatMap((word) => {
      const whole = word.replace(/[._:-]+$/, "");
      const parts = whole.split(/[._:-]/);
      return parts.length > 1 ? [whole, ...parts] : [whole];
    });
  },
  searchOptions: {
    boost: { title: 4, page: 2 },
    prefix: true,
    combineWith: "AND",
    boostDocument: (_id, _term, stored) => weightOf(stored?.kind),
  },
};

/** For a query that finds nothing as it is written. */
export const forgiving = { fuzzy: (term: string): number => (term.length > 4 ? 0.2 : 0) };
