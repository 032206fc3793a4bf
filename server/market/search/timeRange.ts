import type { TaskListItem } from "../../schemas/task.ts";
import { type Connection, empty, sql } from "../../store/connection.ts";
import { taskListColumns } from "../tasks/records.ts";
import type { TaskSearch } from "./filters.ts";
import { filtersInIndex, hasAny, timeTerms } from "./terms.ts";

/** A range of creation times to look up in the inverted index. */
export interface TimeRange {
  /** Inclusive; null for the time of the first task. */
  since: string | null;
  /** Exclusive. */
  before: string;
  /**
   * Whether the index filters by status too. A status's list may be as long as the table, so reading it pays only when
   * the status excludes most matches.
   */
  isStatusRare: boolean;
}

/** Returns the newest matches of a time range, at most `rows`. */
export async function findBetween(
  connection: Connection,
  search: TaskSearch,
  queryTerms: readonly number[],
  { since, before, isStatusRare }: TimeRange,
  rows: number,
): Promise<TaskListItem[]> {
  const inTime =
    since === null
      ? sql`true`
      : sql`${hasAny(timeTerms(secondsOf(since), secondsOf(before)))}
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
