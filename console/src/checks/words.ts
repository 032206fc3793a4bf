import type { Check, NewCheck } from "../api/client.ts";
import { formatBytes, formatNumber, plural } from "../parts/format.ts";

/** Types of files that people know, by what the API calls them. The first names are offered in this order. */
export const fileTypes: readonly { types: readonly string[]; label: string; phrase: string }[] = [
  { types: ["application/pdf"], label: "PDF", phrase: "a PDF" },
  { types: ["image/png", "image/jpeg"], label: "PNG or JPEG image", phrase: "a PNG or JPEG image" },
  { types: ["image/png"], label: "PNG image", phrase: "a PNG image" },
  { types: ["image/jpeg"], label: "JPEG image", phrase: "a JPEG image" },
  { types: ["image/svg+xml"], label: "SVG image", phrase: "an SVG image" },
  { types: ["audio/mpeg"], label: "MP3 audio", phrase: "an MP3 file" },
  { types: ["audio/wav"], label: "WAV audio", phrase: "a WAV file" },
  { types: ["video/mp4"], label: "MP4 video", phrase: "an MP4 video" },
  {
    types: ["application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    ...{ label: "Word document (.docx)", phrase: "a Word document" },
  },
  {
    types: ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
    ...{ label: "Excel workbook (.xlsx)", phrase: "an Excel workbook" },
  },
  { types: ["application/zip"], label: "Zip archive", phrase: "a zip archive" },
  { types: ["text/plain"], label: "Plain text", phrase: "plain text" },
  { types: ["text/markdown"], label: "Markdown", phrase: "Markdown" },
  { types: ["text/csv"], label: "CSV table", phrase: "a CSV table" },
  { types: ["application/json"], label: "JSON", phrase: "JSON" },
];

export const sameTypes = (a: readonly string[], b: readonly string[]) => a.join() === b.join();

/** Types whose files have no signature: a file counts as one of them if its bidder says so. */
export const isTakenAtItsWord = (types: readonly string[]) =>
  types.some((type) => type.startsWith("text/") || type === "application/json" || type === "image/svg+xml");

/** The regular expression for a number of words, and back. Numbers of repetitions end at 1,000. */
export const MAX_WORDS = 1_000;
export const patternOfWords = (min: number | undefined, max: number | undefined) =>
  `^\\s*\\S+(?:\\s+\\S+){${Math.max(0, (min ?? 1) - 1)},${max === undefined ? "" : max - 1}}\\s*$`;

/** Returns the numbers of words that an expression of `patternOfWords` asks for; null for any other. */
export function wordsOfPattern(pattern: string | undefined): { min?: number; max?: number } | null {
  const [, min, max] = /^\^\\s\*\\S\+\(\?:\\s\+\\S\+\)\{(\d+),(\d*)\}\\s\*\$$/.exec(pattern ?? "") ?? [];
  if (min === undefined) return null;
  return { ...((min !== "0" || max === "") && { min: Number(min) + 1 }), ...(max && { max: Number(max) + 1 }) };
}

/** How many items of a list a sentence names. */
const NAMED = 4;

/** What a sentence has no room for: a schema, an expression, a long list. Null if it says everything. */
export function contentOf(check: Check | NewCheck): string | null {
  switch (check.kind) {
    case "json_schema":
      return JSON.stringify(check.schema, null, 2);
    case "text":
      if (check.contains && check.contains.length > NAMED) return check.contains.join("\n");
      return wordsOfPattern(check.matches) === null ? (check.matches ?? null) : null;
    case "csv":
      return check.columns && check.columns.length > NAMED ? check.columns.join("\n") : null;
    case "archive":
      return check.paths.length > NAMED ? check.paths.join("\n") : null;
    case "type":
      return check.types.length > NAMED ? check.types.join("\n") : null;
    default:
      return null;
  }
}

/** Says in a few words what a check wants of a file: "a PDF", "10 to 20 characters". */
export function phraseOf(check: Check | NewCheck): string {
  switch (check.kind) {
    case "type":
      return phraseOfTypes(check.types);
    case "size":
      return rangeOf(check.minBytes, check.maxBytes, formatBytes) || "a size";
    case "text":
      return phraseOfText(check);
    case "json_schema":
      return "JSON that fits a schema";
    case "csv":
      return sentence("a CSV table", [
        check.columns && `with the columns ${listOf(check.columns)}`,
        prefixed(
          "of ",
          rangeOf(check.minRows, check.maxRows, (count) => plural(count, "row")),
        ),
      ]);
    case "image":
      return sentence("an image", [
        rangeOf(check.minWidth, check.maxWidth, pixels("wide")),
        rangeOf(check.minHeight, check.maxHeight, pixels("high")),
      ]);
    case "archive":
      return check.paths.length === 0 ? "a zip archive" : `a zip archive with ${listOf(check.paths)}`;
    case "sha256":
      return `exactly one file, by its SHA-256 ${check.sha256}`;
    case "external":
      return "the buyer’s own program reports what it found";
  }
}

function phraseOfTypes(types: readonly string[]): string {
  const known = fileTypes.find((each) => sameTypes(each.types, types));
  if (known) return known.phrase;
  return types.length === 0 ? "a kind of file" : `a file of type ${listOf(types, "or")}`;
}

function phraseOfText({ minCharacters, maxCharacters, contains, matches }: Extract<Check, { kind: "text" }>): string {
  const words = wordsOfPattern(matches);
  return sentence("a text", [
    prefixed(
      "of ",
      rangeOf(minCharacters, maxCharacters, (count) => plural(count, "character")),
    ),
    prefixed(
      "of ",
      rangeOf(words?.min, words?.max, (count) => plural(count, "word")),
    ),
    contains && `that contains ${listOf(contains.map((text) => `“${text}”`))}`,
    matches && words === null && "that matches a pattern",
  ]);
}

const pixels = (side: string) => (count: number) => `${formatNumber(count)} pixels ${side}`;
const prefixed = (prefix: string, text: string) => text && prefix + text;
const sentence = (start: string, parts: readonly (string | false | undefined)[]) =>
  [start, parts.filter(Boolean).join(", and ")].filter(Boolean).join(" ");

/** "at least 10 MB", "at most 5 rows", "3 to 5 rows"; empty without bounds. */
function rangeOf(min: number | undefined, max: number | undefined, format: (value: number) => string): string {
  if (min !== undefined && max !== undefined) {
    const [from, to] = [format(min), format(max)];
    if (from === to) return `exactly ${to}`;
    // The unit stands once.
    const [, unit] = /(\D*)$/.exec(to) ?? [];
    return `${unit && from.endsWith(unit) ? from.slice(0, -unit.length) : from} to ${to}`;
  }
  if (min !== undefined) return `at least ${format(min)}`;
  return max === undefined ? "" : `at most ${format(max)}`;
}

function listOf(items: readonly string[], word = "and"): string {
  const [last = "", ...before] = items.toReversed();
  if (items.length > NAMED) return `${items.slice(0, NAMED - 1).join(", ")} and ${items.length - NAMED + 1} more`;
  return before.length === 0 ? last : `${before.toReversed().join(", ")} ${word} ${last}`;
}

/** When a task is accepted by its checks: "as soon as", "1 hour after". */
export function formatWait(minutes: number): string {
  if (minutes === 0) return "as soon as";
  return `${minutes % 60 === 0 ? plural(minutes / 60, "hour") : plural(minutes, "minute")} after`;
}
