import type { TaskListItem } from "../../schemas/task.ts";
import { type Connection, empty, sql } from "../../store/connection.ts";
import { taskListColumns } from "../tasks/records.ts";
import type { TaskSearch } from "./filters.ts";
import { COARSEST_SCALE, endOfTerm, filtersInIndex, hasAny, rangeTerms } from "./terms.ts";

/** A stretch of time that the inverted index is asked for. */
export interface Stretch {
  /** Inclusive; null reaches back to the first task. */
  since: string | null;
  /** Exclusive. */
  before: string;
  /** A status's list may be as long as the table: comparing it only pays where it excludes much. */
  isStatusRare: boolean;
}

/** Returns the newest matches of a stretch of time. */
export async function findBetween(
  connection: Connection,
  search: TaskSearch,
  queryTerms: readonly number[],
  { since, before, isStatusRare }: Stretch,
  rows: number,
): Promise<TaskListItem[]> {
  // Few matches are newer than `before` unless a cursor hides them; without one the range may end where few terms do.
  const until = search.cursor === undefined ? endOfTerm(secondsOf(before), COARSEST_SCALE) : secondsOf(before);
  const inTime =
    since === null
      ? sql`true`
      : sql`${hasAny(rangeTerms("c", secondsOf(since), until, { finest: 2 }))}
        AND t.created_at + interval '0' >= ${since}::timestamptz`;
  return connection.query<TaskListItem>(
    sql`
    WITH fetched AS MATERIALIZED (
      SELECT ${taskListColumns} FROM tasks t
      WHERE ${inTime} AND ${filtersInIndex(search, queryTerms)} AND t.created_at + interval '0' < ${before}::timestamptz
        AND t.status || '' = ANY (${search.statuses}::text[])
        ${isStatusRare ? sql`AND ${hasAny(search.statuses.map((status) => `s${status}`))}` : empty})
    SELECT * FROM fetched ORDER BY "createdAt" DESC LIMIT ${rows}`,
    { plan: "fresh" },
  );
}

export const secondsOf = (timestamp: string) => Math.floor(Date.parse(timestamp) / 1000);
