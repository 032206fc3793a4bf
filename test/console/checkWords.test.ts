import { expect, test } from "vitest";
import { patternOfWords, phraseOf, wordsOfPattern } from "../../console/src/checks/words.ts";

test.each([
  [1, undefined, "a text of at least 1 word"],
  [undefined, 1, "a text of at most 1 word"],
  [2, undefined, "a text of at least 2 words"],
  [100, 500, "a text of 100 to 500 words"],
])("the numbers of words %s and %s are read back from their expression", (min, max, phrase) => {
  const matches = patternOfWords(min, max);
  expect(wordsOfPattern(matches)).toEqual({ ...(min !== undefined && { min }), ...(max !== undefined && { max }) });
  expect(phraseOf({ name: "Length", required: true, kind: "text", matches })).toBe(phrase);
});
