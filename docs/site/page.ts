/** One page of the site, and its Markdown version. */
export interface Page {
  /** Below `/docs`: `""` is the home page, `money` is `/docs/money`. */
  path: string;
  title: string;
  /** One sentence, for lists, search engines and llms.txt. */
  description: string;
  /** What stands above the title, such as the name of the section. */
  section: string;
  /** What `/docs/<path>.md` contains. */
  markdown: string;
  /** What `main` contains. */
  html: string;
  headings: readonly Heading[];
  /** `operation` has samples at the side, `home` the whole width. */
  layout?: "operation" | "home";
}

/** A heading below the title. */
export interface Heading {
  level: 2 | 3;
  id: string;
  text: string;
  /** The plain text up to the next heading, for the search. */
  body: string;
}

export const addressOf = (path: string) => (path === "" ? "/docs" : `/docs/${path}`);

/** The address of a page's Markdown. */
export const markdownAddressOf = (path: string) => `/docs/${path === "" ? "index" : path}.md`;

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
