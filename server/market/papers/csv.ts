type Cell = string | number | null;

/** A cell that a spreadsheet would take for a formula. A number with a sign is none. */
const formula = /^[=+\-@\t\r]/;
const number = /^-?\d+(\.\d+)?$/;

/**
 * A table as CSV (RFC 4180), safe to open in a spreadsheet: a text that would run as a formula has an apostrophe before it, which
 * spreadsheets do not show.
 */
export const csvOf = (header: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  csvRows([header, ...rows]);

/** Rows of such a table. */
export const csvRows = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");

function cellOf(cell: Cell): string {
  if (typeof cell === "number") return String(cell);
  const text = cell ?? "";
  const safe = formula.test(text) && !number.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
