/**
 * The client without asyncio is the client with it, minus these words: each method is written once. A line that is right in
 * only one of the two has no place in `_async/`.
 */
const replacements: [RegExp, string][] = [
  [/\bimport asyncio\b/g, "import time"],
  [/\bimport time\nimport time\b/g, "import time"],
  [/\basyncio\.sleep\b/g, "time.sleep"],
  [/\bAwaitable\[((?:[^[\]]|\[[^[\]]*\])*)\]/g, "$1"],
  [/\bAwaitable, /g, ""],
  [/\b(async|await) /g, ""],
  [/\basynccontextmanager\b/g, "contextmanager"],
  [/\b_?Async(?=[A-Z])/g, ""],
  [/\ba(iter_bytes|close)\b/g, "$1"],
  [/__a(iter|enter|exit)__/g, "__$1__"],
  [/\b_async\b/g, "_sync"],
];

/** Derives a module of `_sync/` from one of `_async/`. */
export function withoutAsync(source: string): string {
  return replacements.reduce((text, [words, replacement]) => text.replace(words, replacement), source);
}
