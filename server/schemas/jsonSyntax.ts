const whitespace = /[ \t\n\r]*/y;
const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
/** A string up to its closing quote: every character but control characters, `"` and `\`, and escapes. */
const string = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*/y;

const closing = { "{": "}", "[": "]" } as const;

/**
 * Returns where a JSON text is invalid and what was expected there, as in "line 2, column 5: expected a value", or null for
 * valid JSON. JSON.parse reports the position of only some errors, and its messages quote the text.
 */
export function findJsonError(text: string): string | null {
  // A stack instead of recursion, because the text can be nested deeper than the call stack allows.
  const open: (keyof typeof closing)[] = [];
  let position = 0;
  let awaits: "value" | "name" | "colon" | "separator" = "value";
  /** Right after an opening bracket, which may be closed at once. */
  let isEmpty = false;

  const skip = (pattern: RegExp): string => {
    pattern.lastIndex = position;
    const [taken = ""] = pattern.exec(text) ?? [];
    position += taken.length;
    return taken;
  };
  const fail = (expected: string): string => {
    const lines = text.slice(0, position).split("\n");
    return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}: expected ${expected}`;
  };

  for (;;) {
    skip(whitespace);
    const next = text[position] ?? "";
    const container = open.at(-1);
    if (container && next === closing[container] && (awaits === "separator" || isEmpty)) {
      open.pop();
      position++;
      awaits = "separator";
      isEmpty = false;
    } else if (awaits === "separator") {
      if (container === undefined) return next === "" ? null : fail("the end of the text");
      if (next !== ",") return fail(`\`,\` or \`${closing[container]}\``);
      position++;
      awaits = container === "{" ? "name" : "value";
    } else if (awaits === "colon") {
      if (next !== ":") return fail("`:`");
      position++;
      awaits = "value";
    } else if (awaits === "name" && next !== '"') {
      return fail(`a property name in double quotes${isEmpty ? " or `}`" : ""}`);
    } else if (next === '"') {
      skip(string);
      if (text[position] !== '"') return fail('a valid character or the closing `"` of a string');
      position++;
      awaits = awaits === "name" ? "colon" : "separator";
      isEmpty = false;
    } else if (next === "{" || next === "[") {
      open.push(next);
      position++;
      awaits = next === "{" ? "name" : "value";
      isEmpty = true;
    } else {
      if (skip(scalar) === "") return fail("a value");
      awaits = "separator";
      isEmpty = false;
    }
  }
}
