import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import { Prisma, PrismaClient } from "../../prisma/generated/client.ts";

export const { sql, join, empty } = Prisma;
export type Sql = Prisma.Sql;

export interface QueryOptions {
  /**
   * `cached`, the default: Postgres parses the statement once a connection and may keep one plan for all values; creating
   * a task takes half the time. `fresh` plans for the values at hand: for a search, where they decide which index is best.
   */
  plan?: "cached" | "fresh";
}

/** Runs one statement. Timestamps arrive as ISO 8601 text with six fractional digits, 64-bit integers as numbers. */
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

const MAX_STATEMENT_NAMES = 500;
const TIMESTAMPTZ = 1184;
const INT8 = 20;

/** Postgres prints `2026-11-20 16:16:32.12+00` (sessions are in UTC); the API prints `2026-11-20T16:16:32.120000Z`. */
export function isoTimestamp(text: string): string {
  const [seconds = "", fraction = ""] = text.replace(" ", "T").replace(/\+00$/, "").split(".");
  return `${seconds}.${fraction.padEnd(6, "0")}Z`;
}

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} does not fit a JavaScript integer`);
  return value;
}

// A JavaScript Date would cut microseconds, and a cursor made of it would lose rows: so timestamps stay text.
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === TIMESTAMPTZ) return isoTimestamp;
    if (oid === INT8) return safeInteger;
    return pg.types.getTypeParser(oid, format);
  },
};

/** Opens the pool that both our SQL and Prisma run on. `size` is the number of connections at most. */
export function openPool(databaseUrl: string, size: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: size,
    types,
    // A session in another time zone would store and print other times. A process that hangs inside a transaction must
    // not keep its locks for ever: transactions take milliseconds, since no remote call stands inside one.
    options: "-c TimeZone=UTC -c idle_in_transaction_session_timeout=60s",
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
  });
  // An idle connection that the server closes is replaced at its next use; without a listener it would end the process.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

export function openPrisma(pool: pg.Pool): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}

const statementNames = new Map<string, string>();

/**
 * The name under which each connection keeps a prepared statement. Values are parameters, so there are as many texts as
 * combinations of optional parts; one beyond the limit, which only generated SQL could reach, stays without a name.
 */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known !== undefined || statementNames.size >= MAX_STATEMENT_NAMES) return known;
  const name = `rebid_${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

/** `client` is the pool itself, or one connection of it inside a transaction. */
export function connectionOver(client: pg.Pool | pg.PoolClient): Connection {
  return {
    async query<Row extends object>({ text, values }: Sql, { plan = "cached" }: QueryOptions = {}) {
      const name = plan === "cached" ? statementName(text) : undefined;
      const result = await client.query<Row>({ name, text, values });
      return result.rows;
    },
  };
}
