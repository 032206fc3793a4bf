import type { TaskListItem } from "../../schemas/task.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { taskListColumns } from "../tasks/records.ts";
import { feed } from "./feed.ts";
import { matches, type TaskSearch } from "./filters.ts";
import { boundedTerms } from "./terms.ts";

/**
 * The number of rows to read from the feed's index first; frequent matches are found among them. 100 took twice as long for
 * what every 4th to 20th task matches, 1,000 half as long again for what is rare.
 */
const WALKED_ROWS = 250;

/** How far the walk got. */
interface Reach {
  walked: number;
  reachedAt: string | null;
  newestAt: string | null;
  queryTerms: number[] | null;
}

/**
 * Reads the newest rows of the feed. Returns those that match, the time span that was covered (`isComplete` when that
 * was the whole feed), and some search terms of the query's text.
 */
export async function walkNewest(connection: Connection, search: TaskSearch) {
  const rows = await connection.query<Partial<TaskListItem> & Reach>(
    sql`
    WITH newest AS MATERIALIZED (${feed(search, WALKED_ROWS, sql`${taskListColumns}, t.folded_title, t.folded_tags`)})
    SELECT reach.*, t.* FROM (
      SELECT count(*) AS walked, min("createdAt") AS "reachedAt", max("createdAt") AS "newestAt",
             search_query_terms(${search.query ?? null}) AS "queryTerms" FROM newest) reach
    LEFT JOIN LATERAL (
      SELECT * FROM newest t WHERE ${matches(search, { foldedTags: sql`t.folded_tags`, budget: sql`t."maxBudgetCents"` })}
      ORDER BY t."createdAt" DESC LIMIT ${search.limit}) t ON true
    ORDER BY t."createdAt" DESC`,
    { plan: "fresh" },
  );
  const [first] = rows;
  if (first === undefined) throw new Error("the walk returned no row");
  const { walked, reachedAt, newestAt, queryTerms } = first;
  const found: TaskListItem[] = rows.filter(isTask);
  return { found, isComplete: walked < WALKED_ROWS, reachedAt, newestAt, queryTerms: boundedTerms(queryTerms ?? []) };
}

/** When nothing was found, the only row has the reach but no task. */
const isTask = <Row extends Partial<TaskListItem>>(row: Row): row is Row & TaskListItem => typeof row.id === "string";
