import fc from "fast-check";
import { expect, test } from "vitest";
import { findJsonError } from "../../server/schemas/jsonSyntax.ts";

test.each([
  ["", "line 1, column 1: expected a value"],
  ["{", "line 1, column 2: expected a property name in double quotes or `}`"],
  ['{"title": "x"', "line 1, column 14: expected `,` or `}`"],
  ['{"title": "x",}', "line 1, column 15: expected a property name in double quotes"],
  ["{title: 1}", "line 1, column 2: expected a property name in double quotes or `}`"],
  ['{"title" "x"}', "line 1, column 10: expected `:`"],
  ['{\n  "title": "x"\n  "tags": []\n}', "line 3, column 3: expected `,` or `}`"],
  ['{"a": NaN}', "line 1, column 7: expected a value"],
  ['{"a": undefined}', "line 1, column 7: expected a value"],
  ["[1, 2", "line 1, column 6: expected `,` or `]`"],
  ["[1,]", "line 1, column 4: expected a value"],
  ["[1}", "line 1, column 3: expected `,` or `]`"],
  ["01", "line 1, column 2: expected the end of the text"],
  ["title=x", "line 1, column 1: expected a value"],
  ["{} {}", "line 1, column 4: expected the end of the text"],
  ['{"a": "b\nc"}', 'line 1, column 9: expected a valid character or the closing `"` of a string'],
  ['{"a": "b\\x"}', 'line 1, column 9: expected a valid character or the closing `"` of a string'],
  ['{"a": "b', 'line 1, column 9: expected a valid character or the closing `"` of a string'],
  ["'a'", "line 1, column 1: expected a value"],
])("says where a broken text is broken: %j", (text, problem) => {
  expect(findJsonError(text)).toBe(problem);
});

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test("agrees with JSON.parse on what is valid, also after a character was lost, added or replaced", () => {
  const damaged = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom("", ...'{}[]:,"\\ \n\t\u0000\u2028019.eE+-atfn'), fc.nat({ max: 2 }))
    .map(([json, at, character, removed]) => {
      const index = at % (json.length + 1);
      return json.slice(0, index) + character + json.slice(index + removed);
    });
  fc.assert(
    fc.property(fc.oneof(fc.json(), damaged, fc.string()), (text) => {
      expect(findJsonError(text) === null).toBe(isJson(text));
    }),
    { numRuns: 5_000 },
  );
});

test("takes text that is as large and as deep as a body can be", () => {
  expect(findJsonError("[".repeat(131_072) + "]".repeat(131_072))).toBeNull();
  expect(findJsonError(`"${"\\n".repeat(131_071)}"`)).toBeNull();
  expect(findJsonError(`{"a": "${"x".repeat(262_144)}`)).toContain("line 1, column 262152");
});
