import { appendFileSync } from "node:fs";
import pg from "pg";
import { requestPool } from "../../../../../server/store/poolSettings.ts";

/**
 * Loaded into the service before it starts (`node --import`): writes every statement of its requests to the file
 * STATEMENTS, with its values and its answer, one JSON object a line. So what the bare handler sends, and what the plans
 * are taken of, is what the service sends.
 */
export interface RecordedStatement {
  text: string;
  /** Whether it was prepared. */
  isPrepared: boolean;
  values: unknown[];
  connection: number;
  /** In the order of sending. */
  number: number;
  /** How many statements of the process had been answered when this one was sent. */
  answeredBefore: number;
  rows: Record<string, unknown>[];
}

const file = process.env.STATEMENTS ?? "";
const connections = new WeakMap<object, number>();
let connectionCount = 0;
let sent = 0;
let answered = 0;

/** A value as JSON. */
function encodeValue(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(encodeValue);
  return Buffer.isBuffer(value) ? { $bytes: value.toString("hex") } : value;
}

// biome-ignore lint/suspicious/noExplicitAny: `query` has a dozen overloads.
type Query = (this: pg.Client, ...parameters: any[]) => any;
const query = pg.Client.prototype.query as Query;
const recording: Query = function (...parameters) {
  const [first, second] = parameters;
  const { application_name } = (this as unknown as { connectionParameters: { application_name: string } })
    .connectionParameters;
  if (application_name !== requestPool.name) return query.apply(this, parameters);
  const config = typeof first === "string" ? { text: first } : first;
  const values: unknown[] = config.values ?? (Array.isArray(second) ? second : []);
  const connection = connections.get(this) ?? ++connectionCount;
  connections.set(this, connection);
  const statement = { text: config.text, isPrepared: config.name !== undefined, values: values.map(encodeValue) };
  const order = { connection, number: sent++, answeredBefore: answered };
  const record = (result?: { rows: object[] }) => {
    answered++;
    appendFileSync(file, `${JSON.stringify({ ...statement, ...order, rows: result?.rows ?? [] })}\n`);
  };
  const callbackAt = parameters.findIndex((parameter) => typeof parameter === "function");
  if (callbackAt < 0) {
    const answer: Promise<{ rows: object[] }> = query.apply(this, parameters);
    answer.then(record, () => record());
    return answer;
  }
  const callback = parameters[callbackAt];
  return query.apply(
    this,
    parameters.with(callbackAt, (error: Error | null, result?: { rows: object[] }) => {
      record(result);
      callback(error, result);
    }),
  );
};
pg.Client.prototype.query = recording as typeof pg.Client.prototype.query;
