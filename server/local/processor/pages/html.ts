import { faviconUrl, tokens, wordmark } from "../../../brand/brand.ts";
import type { Choice } from "../model/choices.ts";
import { pageFont } from "./font.ts";

/** Text that is already HTML. Templates escape everything else. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | readonly Part[];

/** Builds HTML from a template. Escapes all values except those that are `Html`. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(
    strings.map((text, index) => text + (index < parts.length ? render(parts[index] ?? "") : "")).join(""),
  );
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(render).join("");
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Builds a page: a card with the content, and a footer that says that this is a test. */
export function page(
  title: string,
  content: Html,
  width: "narrow" | "wide" = "narrow",
  footer = "Test payment processor of this Rebid installation. No real money moves.",
): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${faviconUrl}">
<style>${new Html(style)}</style>
</head>
<body>
<main class="${width}">
<p class="brand">${new Html(wordmark)}</p>
${content}
</main>
<footer>${footer}</footer>
</body>
</html>`.text;
}

/** Builds a list of radio buttons with the first one selected. `note` adds a second line of small print. */
export function radioChoices<Row extends Choice>(
  field: string,
  table: readonly Row[],
  note?: (row: Row) => string,
): Html {
  const rows = table.map((row, index) => {
    const checked = index === 0 ? html` checked` : "";
    return html`
<label class="choice"><input type="radio" name="${field}" value="${row.name}"${checked}>
<span><b>${row.name.replaceAll("_", " ")}</b>
<small>${row.description}</small>
${note === undefined ? "" : html`<small>${note(row)}</small>`}</span></label>`;
  });
  return html`${rows}`;
}

/** Formats an amount in cents: `money(1250, "usd")` returns "$12.50". */
export function money(amountCents: number | null, currency: string | null): string {
  const format = new Intl.NumberFormat("en-US", { style: "currency", currency: (currency ?? "usd").toUpperCase() });
  return format.format((amountCents ?? 0) / 100);
}

const style = `
${pageFont}
${tokens}
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; align-items: center;
  justify-content: center; padding: 24px 16px; background: var(--paper); color: var(--ink);
  font: 16px/1.55 var(--font-text); text-rendering: geometricPrecision }
main { width: 100%; max-width: 480px; background: var(--raised); border: 1px solid var(--line);
  border-radius: var(--radius-large); padding: 32px; box-shadow: var(--shadow) }
main.wide { max-width: 880px }
footer { margin-top: 20px; color: var(--quiet); font-size: 14px; text-align: center }
.brand { margin: 0 0 24px }
.brand svg { display: block; height: 26px }
h1 { margin: 0; font-size: 16px; font-weight: 500; color: var(--quiet) }
h1.large { font-size: 28px; line-height: 1.2; letter-spacing: -0.02em; font-weight: 680; color: var(--ink); margin-bottom: 8px }
h2 { margin: 36px 0 8px; font-size: 18px; font-weight: 650; letter-spacing: -0.01em }
h3 { margin: 20px 0 4px; font-size: 15px; font-weight: 600; color: var(--quiet) }
nav { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 0 0 8px; font-size: 15px }
.amount { margin: 2px 0 24px; font-size: 40px; line-height: 1.15; font-weight: 680; letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums }
p { margin: 0 0 16px; overflow-wrap: anywhere }
.amount.small { margin-bottom: 12px; font-size: 28px }
.soft { color: var(--quiet) }
label.field { display: block; margin-bottom: 6px; font-weight: 600 }
input[type=text] { width: 100%; padding: 12px 14px; border: 1px solid var(--edge); border-radius: var(--radius); font: inherit;
  font-variant-numeric: tabular-nums; background: var(--raised); color: inherit }
.row { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; margin: 12px 0 4px }
fieldset { margin: 24px 0 0; padding: 0; border: 0 }
legend { padding: 0; margin-bottom: 8px; color: var(--quiet) }
label.field + input + label.field { margin-top: 12px }
.choice { display: flex; gap: 12px; align-items: flex-start; padding: 10px 12px; border: 1px solid var(--line);
  border-bottom-width: 0; cursor: pointer }
.choice:first-of-type { border-radius: var(--radius) 10px 0 0 }
.choice:last-of-type { border-radius: 0 0 var(--radius) var(--radius); border-bottom-width: 1px }
.choice:hover { background: var(--tint) }
.choice:has(:checked) { background: var(--tint) }
.choice input { margin: 4px 0 0; width: 16px; height: 16px; accent-color: var(--accent); flex: none }
.choice b::first-letter { text-transform: uppercase }
.choice b { display: block; font-weight: 550; line-height: 1.4 }
.choice small { display: block; color: var(--quiet); font-size: 14px; line-height: 1.4 }
details { margin-top: 24px } summary { cursor: pointer; font-weight: 550; padding: 4px 0 }
details fieldset { margin-top: 8px } details fieldset + fieldset { margin-top: 20px }
button { display: block; width: 100%; margin-top: 24px; padding: 14px 18px; border: 0; border-radius: var(--radius);
  font: inherit; font-weight: 600; background: var(--accent); color: var(--accent-ink); cursor: pointer }
button.quiet { margin-top: 10px; background: none; color: var(--accent) }
button.quiet:hover { background: var(--tint); filter: none }
.inline { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; font-size: 14px }
.inline label { display: flex; align-items: center; gap: 6px; color: var(--quiet) }
.inline input, .inline select { width: 66px; padding: 5px 8px; border: 1px solid var(--edge); border-radius: 8px;
  font: inherit; background: var(--raised); color: var(--ink) }
.inline input[name=call] { width: 148px } .inline input[required] { width: 120px } .inline select { width: auto; max-width: 128px }
.inline button { width: auto; margin: 0; padding: 5px 12px; border: 1px solid var(--edge); border-radius: 8px;
  font-weight: 600; background: none; color: var(--accent) }
.inline button:hover { background: var(--tint); filter: none }
th { font-weight: inherit }
.faults th { width: 32% } .objects th { width: 52% }
.faults th p, .objects th p { margin: 0; color: var(--quiet); font-size: 14px; line-height: 1.4; overflow-wrap: anywhere }
th small { color: var(--quiet); font-size: 13px; white-space: nowrap }
tr[id], h2[id] { scroll-margin-top: 110px }
tr.active, tr:target { background: var(--tint); box-shadow: -12px 0 var(--tint), 12px 0 var(--tint) }
.objects .inline { display: inline-flex; margin: 0 8px 6px 0 }
button:hover { filter: brightness(1.08) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
a { color: var(--accent) }
.cancel { display: block; margin-top: 16px; text-align: center }
.notice { margin: 0 0 20px; padding: 12px 14px; border-radius: var(--radius); background: var(--bad-tint); color: var(--bad) }
.notice.sticky { position: sticky; top: 8px; z-index: 1; border: 1px solid; white-space: pre-line;
  overflow-wrap: anywhere }
.notice.done { background: var(--good-tint); color: var(--good) }
table { width: 100%; border-collapse: collapse; font-size: 15px }
td, th { padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
code { font: 14px/1.5 var(--font-code); white-space: nowrap }
@media (max-width: 520px) { body { padding: 0; justify-content: flex-start } main { border: 0; border-radius: 0;
  padding: 24px 20px; box-shadow: none } .amount { font-size: 34px } th, td { display: block; border: 0; padding: 0 }
  td { padding-bottom: 14px } .faults th, .objects th { width: auto; padding: 10px 0 6px }
  code { white-space: normal; overflow-wrap: anywhere } footer { padding: 0 16px 24px } }
`;
