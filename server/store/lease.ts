import type { Logger } from "pino";
import { type Connection, empty, type Sql, sql } from "./connection.ts";

/**
 * Where a table says until when somebody has a row for themselves. A lease is committed before something is done outside the
 * database and outlives a connection. If its holder dies, it ends by itself and another takes the row. So the work may be done
 * twice, and its result is recorded only on the condition that nobody else has taken the row since.
 */
export interface Lease {
  table: Sql;
  column: Sql;
  seconds: number;
  /** What the column is compared with: real time, because a lease says that a process lives, unless it is also a schedule. */
  now?: Sql;
}

const realTime = sql`clock_timestamp()`;
/** A time of a process' clock, for a lease. */
export const timeOf = (now: Date): Sql => sql`${now.toISOString()}::timestamptz`;

/** When a lease that is taken, or extended, now will end. */
export const endOf = ({ seconds, now = realTime }: Lease): Sql => sql`${now} + make_interval(secs => ${seconds}::int)`;

/** Whether nobody holds the lease. */
export const isFree = ({ column, now = realTime }: Lease): Sql => sql`(${column} IS NULL OR ${column} <= ${now})`;

/**
 * Takes a lease on the row for which `row` holds, writes the assignments of `set` into it, and returns the columns of
 * `returning`. `before` is a FROM clause with what the row was. Returns null if there is no such row, or somebody holds it.
 */
export async function takeLease<Row extends object>(
  connection: Connection,
  lease: Lease,
  { row, set, before = empty, returning }: { row: Sql; set?: Sql; before?: Sql; returning: Sql },
): Promise<Row | null> {
  const assignments = sql`${lease.column} = ${endOf(lease)}${set === undefined ? empty : sql`, ${set}`}`;
  const [taken] = await connection.query<Row>(sql`
    UPDATE ${lease.table} SET ${assignments} ${before} WHERE ${row} AND ${isFree(lease)} RETURNING ${returning}`);
  return taken ?? null;
}

/** Ends the lease, so that the next one can be taken at once. Returns false if the row is not `mine`. */
export async function releaseLease(connection: Connection, { table, column, now = realTime }: Lease, mine: Sql) {
  const released = await connection.query(sql`UPDATE ${table} SET ${column} = ${now} WHERE ${mine} RETURNING 1`);
  return released.length > 0;
}

/** Runs `work`, and extends the lease meanwhile as long as the row is `mine`. */
export async function extendingLease<Result>(
  { database, log }: { database: Connection; log: Logger },
  lease: Lease,
  mine: Sql,
  work: () => Promise<Result>,
): Promise<Result> {
  const extension = sql`UPDATE ${lease.table} SET ${lease.column} = ${endOf(lease)} WHERE ${mine}`;
  const extend = () =>
    database.query(extension).catch((error: unknown) => log.warn({ error }, "a lease could not be extended"));
  const timer = setInterval(extend, (lease.seconds * 1000) / 4);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
