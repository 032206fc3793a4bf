import type { TaskStatus } from "../../schemas/task.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { TaskSearch } from "./filters.ts";
import { filtersInIndex } from "./terms.ts";

/** One task in 128 is in the sample's index, which takes 5 MB beside one of 217; the search migration repeats the number. */
export const SAMPLED_SHARE = 128;

/** Written as in the sample's index and without a parameter, so that the planner sees that it is the same condition. */
const isSampled = sql`uuid_hash(t.id) & 127 = 0`;

/**
 * Returns the creation times of the matches in the sample, newest first, and whether the requested statuses exclude
 * more than half of what the other filters match.
 */
export async function sampleMatches(
  connection: Connection,
  search: TaskSearch,
  queryTerms: readonly number[],
  before: string,
) {
  const rows = await connection.query<{ createdAt: string; status: TaskStatus }>(
    sql`
    WITH fetched AS MATERIALIZED (
      SELECT t.created_at AS "createdAt", t.status FROM tasks t
      WHERE ${isSampled} AND ${filtersInIndex(search, queryTerms)} AND t.created_at + interval '0' < ${before}::timestamptz)
    SELECT * FROM fetched ORDER BY "createdAt" DESC`,
    { plan: "fresh" },
  );
  const sampled = rows.filter(({ status }) => search.statuses.includes(status)).map(({ createdAt }) => createdAt);
  return { sampled, isStatusRare: 2 * sampled.length < rows.length };
}
