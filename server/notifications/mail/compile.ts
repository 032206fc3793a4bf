import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Turns the template of mails into HTML, with inlined styles and nothing from another address. `npm run mails` writes it. */
export async function compileTemplate(): Promise<string> {
  const { default: mjml2html } = await import("mjml");
  const source = await readFile(file("mail.mjml"), "utf8");
  const { html, errors } = await mjml2html(source, { validationLevel: "strict", fonts: {} });
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return html;
}

if (import.meta.main) await writeFile(file("generated/mail.html"), await compileTemplate());
