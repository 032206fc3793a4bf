import { readFileSync } from "node:fs";
import pg from "pg";
import { openPool } from "../../../../../server/store/connection.ts";
import { isRetryable } from "../../../../../server/store/databaseErrors.ts";
import { type BareRequest, type Handlers, serveBare } from "../bareServer.ts";
import { seal, signDownload, signUpload } from "../files.ts";
import { type BodyPart, LAST, matchesOf, type Source, type Step, type Template, type Value } from "./template.ts";

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

/** An id or timestamp is usually all of its text; a storage key has several. */
const partOf = (text: string, match: number) => (text.includes("/") ? (matchesOf(text)[match] ?? "") : text);

function resolve(source: Source, { request, answers, freshIds }: Run): string {
  if ("id" in source) return request.ids[source.id] ?? "";
  if ("field" in source) return partOf(request.body?.[source.field] ?? request.query.get(source.field), source.match);
  if ("keyHash" in source) return request.keyHash.toString("hex");
  if ("fresh" in source) {
    freshIds[source.fresh] ??= crypto.randomUUID();
    return freshIds[source.fresh] ?? "";
  }
  let value: unknown = answers[source.statement];
  for (const key of source.path) {
    value = Array.isArray(value) && key === LAST ? value.at(-1) : (value as Record<string, unknown> | undefined)?.[key];
  }
  return partOf(String(value), source.match);
}

function join(pieces: readonly (string | Source)[], run: Run): string {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined && typeof only !== "string") return resolve(only, run);
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

/** As the service does: what is sent until the next tick goes out in one piece. */
function sendTogether({ connection: { stream } }: pg.Client): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Sends the statements from `from` up to the end of a transaction, or one that stands alone, and returns the next index. */
async function runPart(steps: readonly Step[], from: number, run: Run): Promise<number> {
  const first = steps[from];
  const to = first && begins(first) ? steps.findIndex((step, index) => index >= from && ends(step)) : from;
  const isTransaction = to > from;
  const client = isTransaction ? await pool.connect() : pool;
  try {
    const underWay: Promise<void>[] = [];
    let waitedFor = 0;
    if (client instanceof pg.Client) sendTogether(client);
    for (const [index, { text, isPrepared, values, after }] of steps.entries()) {
      if (index < from || index > to) continue;
      // What was answered before this one was sent. Earlier parts have been answered in any case.
      if (after - from > waitedFor) {
        waitedFor = after - from;
        await Promise.all(underWay.slice(0, waitedFor));
        if (client instanceof pg.Client) sendTogether(client);
      }
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

async function replay({ steps, body }: Template, request: BareRequest) {
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
  return { output, answers: run.answers };
}

/** What the service does with files besides its statements, in the same calls of the object store. */
const withFiles: Record<string, (request: BareRequest, template: Template) => Promise<unknown>> = {
  "POST /bids/{id}/delivery/init": async (request, template) => {
    const { output } = await replay(template, request);
    return { ...output, uploadUrl: await signUpload(String(output.storageKey), request.body) };
  },
  "POST /bids/{id}/delivery/finalize": async (request, template) => {
    const { storageKey } = request.body;
    const sealed = await seal(storageKey);
    const { output, answers } = await replay(template, request);
    const row = answers.flat().findLast((columns) => "sha256" in columns) ?? {};
    return { ...output, delivery: { ...row, downloadUrl: await signDownload(sealed.storageKey) } };
  },
};

const handlers: Handlers = {};
for (const [operation, template] of Object.entries(templates)) {
  const handle = withFiles[operation];
  handlers[operation] = async (request) =>
    handle === undefined ? (await replay(template, request)).output : handle(request, template);
}
serveBare(handlers);
