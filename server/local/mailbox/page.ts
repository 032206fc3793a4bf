import { type Html, html, page } from "../processor/pages/html.ts";
import type { BoxedMail } from "./mails.ts";

/** Builds the page that lists the mails. Links open in a tab of their own. */
export function mailboxPage(mails: readonly BoxedMail[]): string {
  return page(
    "Rebid mailbox",
    html`
<h1 class="large">Mailbox</h1>
<p class="soft">Every mail that this Rebid sends ends up here, whoever it is for. <code>GET /mails</code> has the same as
JSON.</p>
<nav><a href="/">Reload</a></nav>
${mails.length === 0 ? html`<p>No mail yet. Signing up sends one.</p>` : mails.map(mailSection)}`,
    "wide",
    "Mailbox of this Rebid installation. No mail leaves it.",
  );
}

function mailSection({ receivedAt, to, subject, text, links }: BoxedMail): Html {
  return html`
<h2>${subject}</h2>
<p class="soft">To ${to.join(", ")}, <time datetime="${receivedAt}">${receivedAt.slice(0, 19).replace("T", " ")} UTC</time></p>
${text.split(/\n{2,}/).map((paragraph) => html`<p>${paragraph.split("\n").map((line) => lineOf(line, links))}</p>`)}`;
}

const lineOf = (line: string, links: readonly string[]): Html =>
  links.includes(line) ? html`<br><a href="${line}" target="_blank" rel="noreferrer">${line}</a>` : html`${line} `;
