import { isDeepStrictEqual } from "node:util";
import type { RecordedStatement } from "./recorder.ts";

/** Where a value of a later request comes from. */
export type Source =
  | { id: number }
  /** `match` counts the ids and timestamps in a field's text, from 0. */
  | { field: string; match: number }
  | { statement: number; path: string[]; match: number }
  /** The hash of the API key, in hexadecimal. */
  | { keyHash: true }
  /** An id that the service makes itself: the same wherever the same number occurs in one request. */
  | { fresh: number };

/** In a path: the last row. */
export const LAST = "last";

/** A value of a statement: a constant, or text put together from pieces. */
export type Value =
  | { constant: unknown }
  | { bytes: string }
  | { keyHash: true }
  | { pieces: (string | Source)[] }
  | { list: Value[] };

export interface Step {
  text: string;
  isPrepared: boolean;
  connection: number;
  /** How many of the request's own statements must have been answered before this one is sent. */
  after: number;
  values: Value[];
}

/** A part of the response's body. */
export type BodyPart =
  | { constant: unknown }
  | { pieces: (string | Source)[] }
  | { rows: number; fields: string[] }
  | { row: number; fields: string[] };

/** The statements of an operation, and how to make its body from their answers. */
export interface Template {
  steps: Step[];
  body: Record<string, BodyPart>;
}

/** One request of an operation as it was recorded. */
export interface Recording {
  ids: string[];
  input: Record<string, unknown>;
  keyHash: string;
  statements: RecordedStatement[];
  output: Record<string, unknown>;
}

/** Ids and timestamps: what differs from one request to the next. */
export const varying = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z)/;
export const matchesOf = (value: unknown): string[] =>
  typeof value === "string" ? (value.match(new RegExp(varying, "g")) ?? []) : [];
const isId = (text: string) => /^[0-9a-f]{8}-[0-9a-f]{4}-/.test(text);

/**
 * Finds out where each value of a recorded request came from: its path, its body, the answer of an earlier statement. What is
 * in none of them but equal in another recording of the operation is a constant; ids that are not are made anew for each request,
 * and other times are kept as they were. `ownFields` of the body are left out: they are not from the database.
 */
export function createTemplate(recording: Recording, other: Recording, ownFields: readonly string[] = []): Template {
  const sources = new Map<string, Source>();
  const learn = (text: string, source: Source) => {
    if (!sources.has(text)) sources.set(text, source);
  };
  recording.ids.forEach((id, index) => void learn(id, { id: index }));
  for (const [field, value] of Object.entries(recording.input)) {
    for (const [match, text] of matchesOf(value).entries()) learn(text, { field, match });
  }
  const constants = new Set(
    JSON.stringify(other.statements.map(({ values }) => values)).match(new RegExp(varying, "g")),
  );
  let freshIds = 0;
  const sourceOf = (text: string) => {
    const isFresh = isId(text) && !sources.has(text) && !constants.has(text);
    if (isFresh) learn(text, { fresh: freshIds++ });
    return sources.get(text);
  };
  learn(recording.keyHash, { keyHash: true });
  const dynamic = new RegExp(`(${recording.keyHash}|${varying.source.slice(1, -1)})`);
  const piecesOf = (text: string) =>
    text
      .split(dynamic)
      .filter((piece) => piece !== "")
      .map((piece) => sourceOf(piece) ?? piece);
  const createValue = (value: unknown): Value => {
    if (Array.isArray(value)) return { list: value.map(createValue) };
    if (typeof value === "string" && dynamic.test(value)) {
      const pieces = piecesOf(value);
      return pieces.every((piece) => typeof piece === "string") ? { constant: value } : { pieces };
    }
    if (typeof value === "object" && value !== null && "$bytes" in value) {
      return value.$bytes === recording.keyHash ? { keyHash: true } : { bytes: String(value.$bytes) };
    }
    return { constant: value };
  };

  const first = recording.statements[0];
  const answeredBefore = first?.answeredBefore ?? 0;
  const steps = recording.statements.map(
    ({ text, isPrepared, connection, values, rows, ...statement }, index): Step => {
      const after = statement.answeredBefore - answeredBefore;
      const step = { ...{ text, isPrepared, connection, after }, values: values.map(createValue) };
      for (const [row, columns] of rows.slice(0, 5).entries()) learnFrom(columns, index, [String(row)], learn);
      learnFrom(rows.at(-1), index, [LAST], learn);
      return step;
    },
  );
  const body = Object.fromEntries(
    Object.entries(recording.output)
      .filter(([field]) => !ownFields.includes(field))
      .map(([field, value]) => [field, bodyPart(value, recording.statements, piecesOf)]),
  );
  return { steps, body };
}

function learnFrom(value: unknown, statement: number, path: string[], learn: (text: string, source: Source) => void) {
  for (const [match, text] of matchesOf(value).entries()) learn(text, { statement, path, match });
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) learnFrom(inner, statement, [...path, key], learn);
}

/** Finds the rows that a part of the body was made of. */
function bodyPart(
  value: unknown,
  statements: readonly RecordedStatement[],
  piecesOf: (text: string) => (string | Source)[],
): BodyPart {
  if (typeof value === "string") return { pieces: piecesOf(value) };
  if (typeof value !== "object" || value === null || (Array.isArray(value) && value.length === 0)) {
    return { constant: value };
  }
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return { constant: value };
  const items: Record<string, unknown>[] = Array.isArray(value) ? value : [value];
  const fields = Object.keys(items[0] ?? {});
  const has = (row: Record<string, unknown>, item: Record<string, unknown>) =>
    fields.every((field) => isDeepStrictEqual(row[field], item[field]));
  const statement = statements.findLastIndex(
    ({ rows }) => rows.length >= items.length && items.every((item, index) => has(rows[index] ?? {}, item)),
  );
  if (statement < 0) throw new Error(`no statement returned ${JSON.stringify(value).slice(0, 200)}`);
  return Array.isArray(value) ? { rows: statement, fields } : { row: statement, fields };
}
