import { type Connection, type Sql, sql } from "./connection.ts";

// docs/guides/production-reference.md "How long data is kept" names every table and its time.

/** How long what has ended is kept, because somebody may still ask what became of it: keys, unpaid top-ups and the like. */
export const ENDED_KEPT_DAYS = 90;

const DAY_MS = 86_400_000;
const BATCH = 2_000;

/** Returns the time that many days before now, as a timestamp in SQL. Unlike `service_now()`, an index can look for it. */
export function daysAgo(clock: { now(): Date }, days: number): Sql {
  return sql`${new Date(clock.now().getTime() - days * DAY_MS).toISOString()}::timestamptz`;
}

/**
 * Runs a statement until it finds nothing more to delete. It deletes at most `limit` rows, and returns one for each; its
 * rows are locked with `FOR UPDATE SKIP LOCKED`, so any number of processes may do this at once. Each batch is a
 * transaction of its own: no lock is held for long, and what a crash leaves is deleted by the next run.
 */
export async function deleteInBatches(
  connection: Connection,
  deleteBatch: (limit: number) => Sql,
  limit = BATCH,
): Promise<void> {
  let deleted: object[];
  // A plan from a time when nothing was old could read the whole table.
  do deleted = await connection.query(deleteBatch(limit), { plan: "fresh" });
  while (deleted.length === limit);
}
