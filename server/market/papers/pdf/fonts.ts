import { readFileSync } from "node:fs";
import { create } from "fontkit";

/** In order of preference: of a character, the first font that has it. */
const files = [
  ...["latin", "latin-ext", "greek", "greek-ext", "cyrillic", "cyrillic-ext", "vietnamese"],
  ...["sc", "jp", "kr"],
].map((name) => new URL(`../fonts/noto-sans-${name}.ttf`, import.meta.url));

export interface PaperFont {
  name: string;
  content: Buffer;
  has(codePoint: number): boolean;
}

const opened = new Map<URL, PaperFont>();

function open(file: URL): PaperFont {
  const known = opened.get(file);
  if (known !== undefined) return known;
  const content = readFileSync(file);
  const font = create(content);
  if (!("hasGlyphForCodePoint" in font)) throw new Error(`${file} has more than one font`);
  const has = (codePoint: number) => font.hasGlyphForCodePoint(codePoint);
  const added = { name: file.pathname, content, has };
  opened.set(file, added);
  return added;
}

/** A piece of a text in one font. */
export interface Run {
  font: PaperFont;
  text: string;
}

/** Splits a text by font. Fonts that no character needs are not read. A character that no font has becomes a question mark. */
export function runsOf(text: string): Run[] {
  const runs: Run[] = [];
  for (const character of text.normalize("NFC")) {
    const font = fontOf(character);
    const [shown, used] = font === undefined ? ["?", fontOf("?")] : [character, font];
    if (used === undefined) throw new Error("no font has a question mark");
    const last = runs.at(-1);
    if (last?.font === used) last.text += shown;
    else runs.push({ font: used, text: shown });
  }
  return runs;
}

function fontOf(character: string): PaperFont | undefined {
  const codePoint = character.codePointAt(0) ?? 0;
  for (const file of files) {
    const font = open(file);
    if (font.has(codePoint)) return font;
  }
  return undefined;
}
