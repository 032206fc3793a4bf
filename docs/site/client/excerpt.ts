/** About two lines of the dialog. */
const LENGTH = 140;

/** Returns the part of a text that has the first of these words, between whole words; its beginning if it has none. */
export function excerptOf(text: string, words: readonly string[]): string {
  const plain = text.replace(/\s+/g, " ").trim();
  const found = words.map((word) => plain.toLowerCase().indexOf(word.toLowerCase())).filter((at) => at >= 0);
  const at = found.length === 0 ? 0 : Math.min(...found);
  const start = at < LENGTH / 2 ? 0 : plain.indexOf(" ", at - LENGTH / 2) + 1;
  const whole = plain.length <= start + LENGTH;
  const end = whole ? plain.length : plain.lastIndexOf(" ", start + LENGTH);
  return `${start > 0 ? "… " : ""}${plain.slice(start, end)}${whole ? "" : " …"}`;
}
