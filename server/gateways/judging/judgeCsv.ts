import type { Verdict } from "../../schemas/checkResult.ts";
import { failed, number, outOfBounds, passed, quoted } from "./verdict.ts";

const [QUOTE, COMMA, CR, LF] = [0x22, 0x2c, 0x0d, 0x0a];
/** More columns than a check can name. Names that are longer are cut, for they are wrong anyway. */
const MAX_COLUMNS = 201;
const MAX_NAME_BYTES = 1_000;

export interface CsvShape {
  columns: string[];
  /** Without the first. */
  rows: number;
}

/**
 * Reads CSV as RFC 4180 has it, with commas, and CR LF or LF. Keeps nothing but the first row, so that a long line costs no
 * memory. Returns what is wrong as a text.
 */
export function readCsv(content: Uint8Array): CsvShape | string {
  const columns: string[] = [];
  let name: number[] = [];
  let at = content[0] === 0xef && content[1] === 0xbb && content[2] === 0xbf ? 3 : 0;
  let [row, fields, width] = [0, 0, 0];
  if (at === content.length) return "The file is empty.";
  const keep = (byte: number) => {
    if (row === 0 && name.length < MAX_NAME_BYTES) name.push(byte);
  };
  while (at < content.length) {
    const isQuoted = content[at] === QUOTE;
    if (isQuoted) {
      const end = endOfQuoted(content, at, keep);
      if (end === null) return `Row ${number(row + 1)} has a quotation mark that is not closed.`;
      at = end;
    } else {
      while (at < content.length && !isSeparator(content[at])) {
        if (content[at] === QUOTE)
          return `Row ${number(row + 1)} has a quotation mark within a field without quotation marks.`;
        keep(content[at++] ?? 0);
      }
    }
    fields++;
    if (row === 0 && columns.length < MAX_COLUMNS) columns.push(Buffer.from(name).toString());
    name = [];
    if (content[at] === COMMA) {
      at++;
      if (at < content.length) continue;
      fields++; // An empty field ends the file.
      if (row === 0) columns.push("");
    } else if (at < content.length) {
      if (content[at] === CR && content[at + 1] === LF) at++;
      else if (content[at] !== LF)
        return `Row ${number(row + 1)} has something behind a field that should be a comma or the row's end.`;
      at++;
    }
    if (row === 0) width = fields;
    else if (fields !== width)
      return `Row ${number(row + 1)} has ${number(fields)} fields, the first row ${number(width)}.`;
    row++;
    fields = 0;
  }
  return { columns, rows: row - 1 };
}

const isSeparator = (byte: number | undefined) => byte === COMMA || byte === LF || byte === CR;

/** Returns the position behind the closing quotation mark; null if there is none. */
function endOfQuoted(content: Uint8Array, start: number, keep: (byte: number) => void): number | null {
  let at = start + 1;
  for (;;) {
    if (at >= content.length) return null;
    if (content[at] === QUOTE) {
      if (content[at + 1] !== QUOTE) return at + 1;
      at++;
    }
    keep(content[at++] ?? 0);
  }
}

/** Judges UTF-8 text. */
export function judgeCsv(
  content: Uint8Array,
  {
    columns,
    minRows,
    maxRows,
  }: { columns?: string[] | undefined; minRows?: number | undefined; maxRows?: number | undefined },
): Verdict {
  const shape = readCsv(content);
  if (typeof shape === "string") return failed(shape);
  if (columns !== undefined) {
    const at = Array.from({ length: Math.max(columns.length, shape.columns.length) }).findIndex(
      (_, index) => columns[index] !== shape.columns[index],
    );
    const [wanted, found] = [columns[at], shape.columns[at]];
    if (wanted === undefined && found !== undefined)
      return failed(`Column ${at + 1}, ${quoted(found)}, is one too many.`);
    if (wanted !== undefined) {
      const instead = found === undefined ? "is missing" : `was expected, not ${quoted(found)}`;
      return failed(`Column ${at + 1}, ${quoted(wanted)}, ${instead}.`);
    }
  }
  const wrong = outOfBounds(shape.rows, "rows", { min: minRows, max: maxRows });
  return wrong === null
    ? passed(`${number(shape.rows)} rows of ${number(shape.columns.length)} columns.`)
    : failed(wrong);
}
