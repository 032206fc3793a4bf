import type { Check, NewCheck } from "../api/client.ts";
import { fileTypes, MAX_WORDS, patternOfWords, sameTypes, wordsOfPattern } from "./words.ts";

/** What a person can ask for; a text and a pattern are both of the API's kind `text`. */
export type Wish = Exclude<NewCheck["kind"], "text"> | "text" | "pattern";

/** One check as its fields have it. */
export interface Row {
  key: string;
  wish: Wish;
  values: Readonly<Record<string, string>>;
}

/** Says what is wrong with a field of the check. */
type Report = (field: string, message: string) => void;

const BYTES_PER_MEGABYTE = 1_000_000;
/** Of the choice of a file's type: none of those that are offered. */
export const OTHER_TYPE = "other";

/** Starts a check. Names are unique among the checks of a task. */
export function newRow(wish: Wish, others: readonly Row[], values: Row["values"] = {}): Row {
  const names = new Set(others.map((row) => row.values.name));
  const wanted = values.name ?? namesOf[wish];
  const free = [wanted, ...others.map((_, index) => `${wanted} ${index + 2}`)].find((name) => !names.has(name));
  return { key: crypto.randomUUID(), wish, values: { required: "on", ...values, name: free ?? wanted } };
}

const namesOf: Record<Wish, string> = {
  type: "Kind of file",
  size: "Size",
  text: "Length",
  pattern: "Pattern",
  json_schema: "Structure",
  csv: "Columns",
  image: "Resolution",
  archive: "Contents",
  sha256: "Checksum",
  external: "Tests",
};

/** Turns the fields of a check into what the API takes. Reports what cannot be read at all; other rules are the service's. */
export function toCheck({ wish, values }: Row, report: Report): NewCheck {
  const base = { name: values.name ?? "", required: values.required === "on" };
  const number = (field: string, scale = 1) => readNumber(values[field], scale, () => report(field, "Write a number."));
  switch (wish) {
    case "type":
      return { ...base, kind: "type", types: typesIn(values) };
    case "size":
      return {
        ...{ ...base, kind: "size" },
        minBytes: number("minBytes", BYTES_PER_MEGABYTE),
        maxBytes: number("maxBytes", BYTES_PER_MEGABYTE),
      };
    case "text": {
      const [minCharacters, maxCharacters] = [number("minCharacters"), number("maxCharacters")];
      const matches = wordsIn(values, report);
      return { ...base, kind: "text", minCharacters, maxCharacters, contains: linesIn(values.contains), matches };
    }
    case "pattern":
      return { ...base, kind: "text", matches: values.matches ?? "" };
    case "json_schema":
      return { ...base, kind: "json_schema", schema: schemaIn(values.schema, report) };
    case "csv": {
      const [minRows, maxRows] = [number("minRows"), number("maxRows")];
      return { ...base, kind: "csv", columns: linesIn(values.columns), minRows, maxRows };
    }
    case "image":
      return {
        ...{ ...base, kind: "image" },
        ...{ minWidth: number("minWidth"), maxWidth: number("maxWidth") },
        ...{ minHeight: number("minHeight"), maxHeight: number("maxHeight") },
      };
    case "archive":
      return { ...base, kind: "archive", paths: linesIn(values.paths) ?? [] };
    case "sha256":
      return { ...base, kind: "sha256", sha256: (values.sha256 ?? "").trim() };
    case "external":
      if (!values.keyId) report("keyId", "Choose one of your keys.");
      return { ...base, kind: "external", keyId: values.keyId ?? "", hidden: values.hidden === "on" };
  }
}

/** The other way round, to change a check. */
export function rowOf(check: Check): Row {
  const { name, required } = check;
  const wish = check.kind === "text" && isPattern(check) ? "pattern" : check.kind;
  const values = { name, ...(required && { required: "on" }), ...valuesOf(check) };
  return { key: crypto.randomUUID(), wish, values };
}

/** A text that is judged by nothing but an expression. */
const isPattern = ({ matches, minCharacters, maxCharacters, contains }: Extract<Check, { kind: "text" }>) =>
  matches !== undefined &&
  wordsOfPattern(matches) === null &&
  [minCharacters, maxCharacters, contains].every((bound) => bound === undefined);

function valuesOf(check: Check): Record<string, string> {
  switch (check.kind) {
    case "type": {
      const known = fileTypes.find(({ types }) => sameTypes(types, check.types));
      return { type: known ? known.types.join() : OTHER_TYPE, types: check.types.join(", ") };
    }
    case "size":
      return texts({
        minBytes: check.minBytes === undefined ? undefined : check.minBytes / BYTES_PER_MEGABYTE,
        maxBytes: check.maxBytes === undefined ? undefined : check.maxBytes / BYTES_PER_MEGABYTE,
      });
    case "text": {
      const { minCharacters, maxCharacters, contains, matches } = check;
      const words = wordsOfPattern(matches);
      const lines = contains?.join("\n");
      return texts({
        ...{ minCharacters, maxCharacters, contains: lines, minWords: words?.min, maxWords: words?.max },
        ...(words === null && { matches }),
      });
    }
    case "json_schema":
      return { schema: JSON.stringify(check.schema, null, 2) };
    case "csv":
      return texts({ columns: check.columns?.join("\n"), minRows: check.minRows, maxRows: check.maxRows });
    case "image": {
      const { minWidth, maxWidth, minHeight, maxHeight } = check;
      return texts({ minWidth, maxWidth, minHeight, maxHeight });
    }
    case "archive":
      return { paths: check.paths.join("\n") };
    case "sha256":
      return { sha256: check.sha256 };
    case "external":
      return texts({ keyId: check.keyId, hidden: check.hidden ? "on" : undefined });
  }
}

const texts = (values: Record<string, string | number | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]])),
  );

function readNumber(text: string | undefined, scale: number, refuse: () => void): number | undefined {
  const digits = (text ?? "").replaceAll(/[\s,]/g, "");
  if (digits === "") return undefined;
  const value = Number(digits);
  if (!Number.isFinite(value)) refuse();
  // A part of a megabyte has rounding errors; a part of a row is for the service to refuse.
  return scale === 1 ? value : Math.round(value * scale);
}

function linesIn(text = ""): string[] | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  const filled = lines.filter((line) => line !== "");
  return filled.length === 0 ? undefined : filled;
}

function typesIn({ type = "", types = "" }: Row["values"]): string[] {
  const text = type === OTHER_TYPE ? types : type;
  const found = text.split(",").map((each) => each.trim());
  return found.filter((each) => each !== "");
}

/** The expression for a number of words; without one, that of a check that had another before. */
function wordsIn(values: Row["values"], report: Report): string | undefined {
  const read = (field: string) => {
    const count = readNumber(values[field], 1, () => report(field, "Write a number."));
    if (count === undefined) return undefined;
    const isPossible = Number.isInteger(count) && count >= 1 && count <= MAX_WORDS;
    if (!isPossible) report(field, `Words are counted from 1 to ${MAX_WORDS.toLocaleString("en-US")}.`);
    return count;
  };
  const [min, max] = [read("minWords"), read("maxWords")];
  if (min === undefined && max === undefined) return values.matches || undefined;
  if (min !== undefined && max !== undefined && min > max) report("minWords", "This is more than at most.");
  return patternOfWords(min, max);
}

function schemaIn(text = "", report: Report): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {
    // The same is wrong with it as with JSON that is no object.
  }
  report("schema", 'Write a JSON Schema, such as {"type": "array"}.');
  return {};
}

/** What is wrong with a check as a whole. The service names its bounds as the API does. */
export const wordsOfBounds = (message: string) =>
  message.includes("needs a bound") ? "Fill in at least one of its numbers." : "“At least” is more than “at most”.";
