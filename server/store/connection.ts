import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import { Prisma, PrismaClient } from "../../prisma/generated/client.ts";
import { measuredStatement } from "../measures.ts";
import type { TaskStatus } from "../schemas/task.ts";
import { tracedWithin } from "../tracing.ts";
import type { PoolSettings } from "./poolSettings.ts";
import { statementName } from "./statementName.ts";

export const { sql, join, empty } = Prisma;
export type Sql = Prisma.Sql;

/** Before every other id. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** Puts a value of ours into the text of a statement, so that there is a plan for each. Never for what a caller sent. */
export const literal = (value: number | TaskStatus): Sql =>
  Prisma.raw(typeof value === "number" ? String(value) : `'${value}'`);

/**
 * Hides a value from the planner, which would otherwise see that some user has many rows, never settle on one plan for a
 * cached statement, and plan it each time: half of the database's time for a page of the ledger (measured).
 */
export const hidden = (value: Sql): Sql => sql`(SELECT ${value})`;

export interface QueryOptions {
  /**
   * `cached` (default): Postgres parses the statement once per connection and may reuse one plan for all values, which
   * halves the time to create a task. `fresh` plans for the actual values: for a search, they decide which index is best.
   */
  plan?: "cached" | "fresh";
  /**
   * At the start of a transaction, it goes out together with `BEGIN`. It only reads or locks, so it leaves nothing behind if
   * there is no transaction after all. One round trip less for each change: a tenth of a lifecycle's CPU time.
   */
  withBegin?: true;
  /**
   * Outside a transaction, it shares a connection with the statements of other requests. It is short and takes no lock,
   * because they wait behind it.
   */
  sharesConnection?: true;
}

/** Runs one statement. Timestamps are returned as ISO 8601 text with six fractional digits, 64-bit integers as numbers. */
export interface Connection {
  query<Row extends object>(statement: Sql, options?: QueryOptions): Promise<Row[]>;
}

/** Runs a statement that always returns exactly one row, such as `INSERT … RETURNING`; throws when it does not. */
export async function queryOne<Row extends object>(
  connection: Connection,
  statement: Sql,
  options?: QueryOptions,
): Promise<Row> {
  const [row, ...others] = await connection.query<Row>(statement, options);
  if (row === undefined || others.length > 0) throw new Error(`expected one row: ${statement.text}`);
  return row;
}

/** Only a bound on memory: what a process of the service sends has some hundreds of texts, and all tests in one have more than 500. */
const MAX_STATEMENT_NAMES = 2_000;
const TIMESTAMPTZ = 1184;
const INT8 = 20;

/**
 * Converts Postgres' `2026-11-20 16:16:32.12+00` (sessions are in UTC), or `2026-11-20T16:16:32.12+00:00` in JSON, to the
 * API's `2026-11-20T16:16:32.120000Z`. By position, because regular expressions took a twentieth of the time of a page of
 * tasks (measured).
 */
export function isoTimestamp(text: string): string {
  const time = text.slice(DAY.length + 1, text.indexOf("+", DAY.length));
  const padded =
    time.length === SECONDS.length ? `${time}.000000` : time.padEnd(SECONDS.length + ".000000".length, "0");
  return `${text.slice(0, DAY.length)}T${padded}Z`;
}
const DAY = "2026-11-20";
const SECONDS = "16:16:32";

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} exceeds JavaScript's safe integers`);
  return value;
}

// Timestamps stay text: a JavaScript Date truncates microseconds, and a cursor made from it would skip rows.
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === TIMESTAMPTZ) return isoTimestamp;
    if (oid === INT8) return safeInteger;
    return pg.types.getTypeParser(oid, format);
  },
};

/** What the sessions of a pool have set. A number is in milliseconds. */
export function sessionSettingsOf({ lockTimeoutSeconds = 0, statementTimeoutSeconds = 0 }: PoolSettings) {
  return {
    TimeZone: "UTC", // `isoTimestamp` relies on it.
    // Compiling a statement takes longer than any of ours runs: on Debian's PostgreSQL 15, whose compiler is on by default, a page
    // of the event log took 1.5 s while tasks were posted, and without it 0.05 s.
    jit: "off",
    // Releases the locks of a process that hangs inside a transaction; a healthy one takes milliseconds, because no
    // transaction contains a remote call.
    idle_in_transaction_session_timeout: "60000",
    lock_timeout: String(lockTimeoutSeconds * 1000),
    statement_timeout: String(statementTimeoutSeconds * 1000),
  };
}

const optionsOf = (settings: Record<string, string>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ");

/** Opens the connection pool that our SQL and Prisma share. */
export function openPool(databaseUrl: string, settings: PoolSettings): pg.Pool {
  const { name = "rebid", poolSize, silenceTimeoutSeconds } = settings;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: name,
    max: poolSize,
    types,
    ...(settings.pooler === undefined && { options: optionsOf(sessionSettingsOf(settings)) }),
    // For a connection to be opened, or to become free.
    connectionTimeoutMillis: 5_000,
    ...(silenceTimeoutSeconds !== undefined && { query_timeout: silenceTimeoutSeconds * 1000 }),
    idleTimeoutMillis: 60_000,
    // The system asks a peer that sends nothing for 4 s, and breaks the connection 10 s later if its host is cut off.
    keepAlive: true,
    keepAliveInitialDelayMillis: 4_000,
    // Statements need not wait for the answers to those before. A time-out closes the connection, since answers behind the
    // missing one cannot arrive either.
    pipeline: true,
  });
  // The pool replaces an idle connection that the server has closed. Without listeners, its error would end the process.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

export function openPrisma(pool: pg.Pool): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}

const statementNames = new Map<string, string>();

/**
 * The name under which a connection keeps the prepared statement for this text. Values are parameters, so the number of
 * texts is the number of combinations of optional clauses. Texts beyond the limit, which only generated SQL could reach,
 * are not prepared.
 */
function preparedName(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known !== undefined || statementNames.size >= MAX_STATEMENT_NAMES) return known;
  const name = `rebid_${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

/** Wraps a pool, or the one connection that a transaction uses. Behind a pooler, statements are not prepared. */
export function connectionOver(client: pg.Pool | pg.PoolClient, pooler?: PoolSettings["pooler"]): Connection {
  return {
    async query<Row extends object>({ text, values }: Sql, { plan = "cached" }: QueryOptions = {}) {
      const name = plan === "cached" && pooler === undefined ? preparedName(text) : undefined;
      const result = await measuredStatement(() =>
        tracedWithin(
          () => statementName(text),
          () => client.query<Row>({ name, text, values }),
        ),
      );
      return result.rows;
    },
  };
}

/**
 * Runs statements of a transaction in the order given, without waiting for the answers in between, and returns their answers.
 * Each step must send its statements before it waits for anything. The first failure is thrown; Postgres refuses what comes
 * after it.
 */
export function inOrder<A, B>(...steps: [Step<A>, Step<B>]): Promise<[A, B]>;
export function inOrder<A, B, C>(...steps: [Step<A>, Step<B>, Step<C>]): Promise<[A, B, C]>;
export function inOrder<A, B, C, D>(...steps: [Step<A>, Step<B>, Step<C>, Step<D>]): Promise<[A, B, C, D]>;
export function inOrder(...steps: Step<unknown>[]): Promise<unknown[]> {
  return Promise.all(steps.map(async (step) => step()));
}
type Step<Answer> = () => Promise<Answer>;
