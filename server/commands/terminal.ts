import { styleText } from "node:util";

export const bold = (text: string) => styleText("bold", text);
export const dim = (text: string) => styleText("dim", text);

/** What users wrote, safe to print: no control character can move the cursor or change colours. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "\u{fffd}");
}

/** The same for JSON, which stays valid: it escapes the control characters of ASCII already, and here the others. */
export function printableJson(json: string): string {
  return json.replaceAll(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
