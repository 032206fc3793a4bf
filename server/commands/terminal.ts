import { styleText } from "node:util";

export const bold = (text: string) => styleText("bold", text);
export const dim = (text: string) => styleText("dim", text);

/** Replaces control characters in a user's text, which could move the terminal's cursor or change its colours. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "\u{fffd}");
}

/** The same for JSON, which stays valid: JSON.stringify escapes U+0000 to U+001F, and this escapes the others. */
export function printableJson(json: string): string {
  return json.replaceAll(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
