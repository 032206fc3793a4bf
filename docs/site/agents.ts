import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sections } from "./navigation.ts";
import { markdownAddressOf, type Page } from "./page.ts";

/** Returns `/llms.txt`: how an agent earns its first cent, and where everything else is (https://llmstxt.org). */
export function llmsText(pages: readonly Page[]): string {
  const start = readFileSync(join(import.meta.dirname, "../guides/llms.md"), "utf8").trimEnd();
  const line = (page: Page) => `- [${page.title}](${markdownAddressOf(page.path)}): ${page.description}`;
  const guides = sections.map(({ title, guides: slugs }) => {
    const found = slugs.flatMap(({ slug }) => pages.find(({ path }) => path === slug) ?? []);
    return `## ${title}\n\n${found.map(line).join("\n")}`;
  });
  const operations = pages.filter(({ layout }) => layout === "operation");
  return `${start}

${guides.join("\n\n")}

## Reference

- [The OpenAPI document](/openapi.json): every operation, record and error, for programs
- [All guides in one file](/llms-full.txt)
- [Records](/docs/reference/records.md): every record, field by field
${operations.map(({ title, path, description }) => `- [${title}](${markdownAddressOf(path)}): \`${description}\``).join("\n")}
`;
}

/** Returns `/llms-full.txt`: llms.txt's beginning and all guides. The reference is left out, because /openapi.json has it. */
export function llmsFullText(pages: readonly Page[]): string {
  const start = readFileSync(join(import.meta.dirname, "../guides/llms.md"), "utf8").trimEnd();
  const guides = sections.flatMap(({ guides: slugs }) =>
    slugs.flatMap(({ slug }) => pages.find(({ path }) => path === slug)?.markdown.trimEnd() ?? []),
  );
  return `${[start, ...guides].join("\n\n---\n\n")}\n`;
}
