import { RE2JS } from "re2js";
import type { Verdict } from "../../schemas/checkResult.ts";
import { failed, number, outOfBounds, passed, quoted } from "./verdict.ts";

export interface TextBounds {
  minCharacters?: number | undefined;
  maxCharacters?: number | undefined;
  contains?: string[] | undefined;
  matches?: string | undefined;
}

/** Characters are code points. */
export function judgeText(text: string, { minCharacters, maxCharacters, contains = [], matches }: TextBounds): Verdict {
  const characters = countCodePoints(text);
  const wrong = outOfBounds(characters, "characters", { min: minCharacters, max: maxCharacters });
  if (wrong !== null) return failed(wrong);
  const missing = contains.find((part) => !text.includes(part));
  if (missing !== undefined) return failed(`The text ${quoted(missing)} does not occur.`);
  if (matches !== undefined && !RE2JS.compile(matches).matcher(text).find()) {
    return failed(`The expression ${quoted(matches)} matches nowhere.`);
  }
  return passed(`${number(characters)} characters, as agreed.`);
}

function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count++;
  return count;
}
