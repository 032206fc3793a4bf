import type { InputIssue } from "./inputIssue.ts";
import { shortName } from "./messages.ts";

/**
 * How deep an input may be nested and how many values it may have: objects, arrays and what they hold, itself included. They
 * are checked before anything else looks at the input, so that its cost is bounded whatever it contains. The largest input
 * that any operation accepts is 3 levels deep and has fewer than 50 values. Source: docs/contract.md "Limits".
 */
const MAX_INPUT_DEPTH = 16;
const MAX_INPUT_VALUES = 1_000;

/** Maximum number of parameters in a query string; no operation takes more than 10. Source: docs/contract.md "Limits". */
export const MAX_QUERY_PARAMETERS = 100;

/** Texts that are reported as broken in one error; the rest is found when these are mended. */
const MAX_BROKEN_TEXTS = 20;

const TOO_DEEP = `The input is nested more than ${MAX_INPUT_DEPTH} levels deep.`;
// Formatted when it is needed: the first number takes 30 ms.
const tooManyValues = () => `The input has more than ${MAX_INPUT_VALUES.toLocaleString("en")} values.`;

const [SPACE, QUOTE, BACKSLASH, COMMA] = [0x20, 0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Returns which bound a JSON text exceeds, or null. The text is one input, or an object of `batchSize` inputs. It is for
 * doors that read text, before they parse it: one pass over the characters, without building anything. A text that is not
 * valid JSON may pass.
 */
export function findExceededBound(text: string, batchSize?: number): string | null {
  const maxDepth = MAX_INPUT_DEPTH + (batchSize === undefined ? 0 : 1);
  const maxValues = MAX_INPUT_VALUES * (batchSize ?? 1) + 1;
  let depth = 0;
  let values = 1;
  /** Right after an opening bracket, which was counted with a value that it may not have. */
  let isEmpty = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character <= SPACE) continue;
    if (character === OPEN_OBJECT || character === OPEN_ARRAY) {
      depth++;
      values++;
      isEmpty = true;
      if (depth > maxDepth) return TOO_DEEP;
    } else {
      if (character === CLOSE_OBJECT || character === CLOSE_ARRAY) {
        depth--;
        if (isEmpty) values--;
      } else if (character === COMMA) values++;
      else if (character === QUOTE) at = endOfString(text, at);
      isEmpty = false;
    }
    if (values > maxValues) return tooManyValues();
  }
  return null;
}

/** Returns the position of the quote that closes the string which opens at `start`, or the text's end. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) return at;
    if (character === BACKSLASH) at++;
  }
  return text.length;
}

/** A value in an input, and where it is; its path is built only if it is reported. */
interface InputValue {
  value: unknown;
  key: string;
  parent: InputValue | null;
  depth: number;
}

/**
 * Returns what no operation accepts in an input, whatever its schema: more depth or values than the bounds, or else text that
 * Postgres cannot store, which is a NUL character or an unpaired surrogate (it would silently become another character).
 * Every call passes here, through whichever door it came.
 */
export function findUnacceptable(input: unknown): InputIssue[] {
  const issues: InputIssue[] = [];
  // A list instead of recursion, because an input can be nested deeper than the call stack allows.
  const values: InputValue[] = [{ value: input, key: "", parent: null, depth: 0 }];
  for (const found of values) {
    const { value, depth } = found;
    if (typeof value === "string" && issues.length < MAX_BROKEN_TEXTS && isBroken(value)) {
      issues.push({ path: pathOf(found), message: "The text contains a NUL character or an unpaired surrogate." });
    }
    if (typeof value !== "object" || value === null) continue;
    if (depth === MAX_INPUT_DEPTH) return [{ path: "", message: TOO_DEEP }];
    const keys = Object.keys(value);
    if (values.length + keys.length > MAX_INPUT_VALUES) return [{ path: "", message: tooManyValues() }];
    for (const [key, inner] of Object.entries(value)) {
      if (isBroken(key) && issues.length < MAX_BROKEN_TEXTS) {
        issues.push({ path: pathOf(found), message: "A name contains a NUL character or an unpaired surrogate." });
      }
      values.push({ value: inner, key, parent: found, depth: depth + 1 });
    }
  }
  return issues;
}

const isBroken = (text: string) => text.includes("\0") || !text.isWellFormed();

function pathOf(found: InputValue): string {
  const keys: string[] = [];
  for (let at = found; at.parent !== null; at = at.parent) keys.unshift(shortName(at.key));
  return shortName(keys.join("."));
}
