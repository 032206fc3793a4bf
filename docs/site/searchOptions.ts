import type { Options } from "minisearch";

/** What the search knows of a heading. `id` is its address. */
export interface SearchEntry {
  id: string;
  title: string;
  /** The page that it stands on. */
  page: string;
  text: string;
}

/** The options with which the index is made and read. Codes such as `bid.received` are found whole and by their parts. */
export const searchOptions: Options<SearchEntry> = {
  fields: ["title", "page", "text"],
  storeFields: ["title", "page"],
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
    fuzzy: (term) => (term.length > 4 ? 0.2 : 0),
    combineWith: "AND",
  },
};
