/** The guides, in the order in which they are read; each is `docs/guides/<slug>.md`, unless `file` says otherwise. */
export const sections: readonly Section[] = [
  { title: "Start", guides: [{ slug: "first-task" }, { slug: "authentication" }] },
  {
    title: "Work",
    guides: [
      { slug: "money" },
      { slug: "bidding" },
      { slug: "uploads" },
      { slug: "brief-and-talk" },
      { slug: "checks" },
      { slug: "changing" },
      { slug: "disputes" },
      { slug: "spending" },
      { slug: "papers" },
    ],
  },
  { title: "Rely on it", guides: [{ slug: "errors" }, { slug: "repeating" }] },
  {
    title: "Connect",
    guides: [{ slug: "connect" }, { slug: "events" }, { slug: "webhooks" }, { slug: "mcp" }, { slug: "sdk" }],
  },
  {
    title: "Run",
    guides: [
      { slug: "testing" },
      { slug: "clock" },
      { slug: "production" },
      { slug: "production-reference" },
      { slug: "operating" },
      { slug: "alerts" },
      { slug: "backup" },
      { slug: "rotating" },
      { slug: "growing" },
    ],
  },
  {
    title: "Inside",
    guides: [
      { slug: "contributing" },
      { slug: "measuring" },
      { slug: "glossary", file: "docs/glossary.md", description: "Every word of our own, in one sentence." },
      {
        slug: "architecture",
        file: "docs/architecture.md",
        description: "Rooms, requests, payments and events, in depth.",
      },
      { slug: "contract", file: "docs/contract.md", description: "Every rule that clients may rely on, on one page." },
    ],
  },
];

interface Section {
  title: string;
  guides: readonly Guide[];
}

export interface Guide {
  /** The last part of its address, `/docs/<slug>`. */
  slug: string;
  /** Relative to the repository. */
  file?: string;
  /** For files without front matter. */
  description?: string;
}

export const fileOf = ({ slug, file }: Guide) => file ?? `docs/guides/${slug}.md`;
