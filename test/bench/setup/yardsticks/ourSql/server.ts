import { readFileSync } from "node:fs";
import type pg from "pg";
import { openPool } from "../../../../../server/store/connection.ts";
import { isRetryable } from "../../../../../server/store/databaseErrors.ts";
import { type BareRequest, type Handlers, serveBare } from "../bareServer.ts";
import { type BodyPart, LAST, type Source, type Step, type Template, type Value } from "./template.ts";

/**
 * Yardstick 1, what the framework costs: `node:http` and `pg` with nothing in between, and exactly the statements that the
 * service was recorded to send (`recorder.ts`), in the same transactions and prepared as there. Statements that the service sent
 * without waiting for an earlier answer are sent so here, too. It leaves out whatever the service does in Node: routing, limits,
 * access, validation of input and output, decisions. The values that the service computes are put together from the
 * recording.
 */
const pool = openPool(process.env.DATABASE_URL ?? "", { poolSize: 20 });
const templates: Record<string, Template> = JSON.parse(readFileSync(process.env.TEMPLATES ?? "", "utf8"));

type Rows = Record<string, unknown>[];

/** A request on its way through its statements. */
interface Run {
  request: BareRequest;
  answers: Rows[];
  freshIds: string[];
}

function resolve(source: Source, { request, answers, freshIds }: Run): string {
  if ("id" in source) return request.ids[source.id] ?? "";
  if ("field" in source) return request.body?.[source.field] ?? request.query.get(source.field);
  if ("fresh" in source) {
    freshIds[source.fresh] ??= crypto.randomUUID();
    return freshIds[source.fresh] ?? "";
  }
  let value: unknown = answers[source.statement];
  for (const key of source.path) {
    value = Array.isArray(value) && key === LAST ? value.at(-1) : (value as Record<string, unknown> | undefined)?.[key];
  }
  return String(value);
}

function join(pieces: readonly (string | Source)[], run: Run): string {
  let text = "";
  for (const piece of pieces) text += typeof piece === "string" ? piece : resolve(piece, run);
  return text;
}

function resolveValue(value: Value, run: Run): unknown {
  if ("constant" in value) return value.constant;
  if ("keyHash" in value) return run.request.keyHash;
  if ("bytes" in value) return Buffer.from(value.bytes, "hex");
  if ("list" in value) return value.list.map((item) => resolveValue(item, run));
  return join(value.pieces, run);
}

const pick = (row: Record<string, unknown>, fields: readonly string[]) => {
  const picked: Record<string, unknown> = {};
  for (const field of fields) picked[field] = row[field];
  return picked;
};

function bodyOf(part: BodyPart, run: Run): unknown {
  if ("constant" in part) return part.constant;
  if ("pieces" in part) return join(part.pieces, run);
  if ("rows" in part) return run.answers[part.rows]?.map((row) => pick(row, part.fields));
  return pick(run.answers[part.row]?.[0] ?? {}, part.fields);
}

const begins = ({ text }: Step) => /^\s*BEGIN\b/i.test(text);
const ends = ({ text }: Step) => /^\s*COMMIT\b/i.test(text);
const names = new Map<string, string>();
const nameOf = (text: string) => {
  const name = names.get(text) ?? `bare_${names.size}`;
  names.set(text, name);
  return name;
};

/** Sends the statements from `from` up to the end of a transaction, or one that stands alone, and returns the next index. */
async function runPart(steps: readonly Step[], from: number, run: Run): Promise<number> {
  const first = steps[from];
  const to = first && begins(first) ? steps.findIndex((step, index) => index >= from && ends(step)) : from;
  const isTransaction = to > from;
  const client = isTransaction ? await pool.connect() : pool;
  try {
    const underWay: Promise<void>[] = [];
    for (const [index, { text, isPrepared, values, after }] of steps.entries()) {
      if (index < from || index > to) continue;
      // What was answered before this one was sent. Earlier parts have been answered in any case.
      await Promise.all(underWay.slice(0, Math.max(0, after - from)));
      const query: pg.QueryConfig = { text, values: values.map((value) => resolveValue(value, run)) };
      if (isPrepared) query.name = nameOf(text);
      const answer = client.query(query).then(({ rows }) => {
        run.answers[index] = rows;
      });
      answer.catch(() => undefined); // Thrown below.
      underWay.push(answer);
    }
    await Promise.all(underWay);
  } catch (error) {
    if (isTransaction) await client.query("ROLLBACK");
    throw error;
  } finally {
    if ("release" in client) client.release();
  }
  return to + 1;
}

async function replay({ steps, body }: Template, request: BareRequest): Promise<unknown> {
  const run: Run = { request, answers: [], freshIds: [] };
  for (let next = 0; next < steps.length; ) {
    try {
      next = await runPart(steps, next, run);
    } catch (error) {
      if (!isRetryable(error)) throw error;
    }
  }
  const output: Record<string, unknown> = {};
  for (const field in body) output[field] = bodyOf(body[field] ?? { constant: null }, run);
  return output;
}

const handlers: Handlers = {};
for (const [operation, template] of Object.entries(templates)) {
  handlers[operation] = (request) => replay(template, request);
}
serveBare(handlers);
