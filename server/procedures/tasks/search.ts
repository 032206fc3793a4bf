import { type Connection, empty, join, type Sql, sql } from "../../db/connection.ts";
import type { TaskListItem, TaskStatus } from "../../schemas/task.ts";
import { taskListColumns } from "./records.ts";

export interface TaskSearch {
  statuses: readonly TaskStatus[];
  /** As tags are stored: trimmed and lower-cased. */
  tag?: string | undefined;
  /** At least two characters; they are what they look like, in any case. */
  query?: string | undefined;
  minBudgetCents?: number | undefined;
  maxBudgetCents?: number | undefined;
  /** Only tasks that are older. */
  cursor?: string | undefined;
  limit: number;
}

/** Frequent things are among the newest rows: so many are read first, in the feed's own index. */
const WALKED_ROWS = 400;
/** Each stretch of time is so many times longer than the one before. */
const GROWTH = 8;
const MIN_STRETCH_SECONDS = 256;

/**
 * The newest tasks that match, newest first. What is frequent is found among the newest rows; then the inverted index is
 * asked for one stretch of time after the other, each longer, so that a rare match costs a few questions and a frequent
 * one never more rows than a few pages. See the search migration for the index.
 */
export async function searchTasks(connection: Connection, search: TaskSearch): Promise<TaskListItem[]> {
  const { tag, query, minBudgetCents, maxBudgetCents, limit } = search;
  if (tag === undefined && query === undefined && minBudgetCents === undefined && maxBudgetCents === undefined) {
    return connection.query<TaskListItem>(feed(search, limit));
  }
  const { found, walked, reachedAt, newestAt, oldestAt } = await walkNewest(connection, search);
  if (found.length === limit || walked < WALKED_ROWS || reachedAt === null) return found;

  const oldest = secondsOf(oldestAt);
  let upper = secondsOf(reachedAt) + 1;
  let stretch = Math.max(MIN_STRETCH_SECONDS, (secondsOf(newestAt) - secondsOf(reachedAt)) * GROWTH);
  while (found.length < limit && upper > oldest) {
    const lower = Math.max(oldest, upper - stretch);
    const range = { from: lower, to: upper - 1, before: reachedAt };
    found.push(...(await findInStretch(connection, search, range, limit - found.length)));
    upper = lower;
    stretch *= GROWTH;
  }
  return found;
}

const secondsOf = (timestamp: string | null) => Math.floor(Date.parse(timestamp ?? "") / 1000);

/** One page of the feed by its index; several statuses are the newest of each, and then the newest of all. */
function feed({ statuses, cursor }: TaskSearch, rows: number): Sql {
  const older = cursor === undefined ? empty : sql`AND t.created_at < ${cursor}::timestamptz`;
  const page = (status: TaskStatus | undefined) => sql`
      SELECT ${taskListColumns} FROM tasks t
      WHERE t.status = ${status}
        ${older}
      ORDER BY t.created_at DESC LIMIT ${rows}`;
  if (statuses.length === 1) return page(statuses[0]);
  const pages = join(
    statuses.map((status) => sql`(${page(status)})`),
    " UNION ALL ",
  );
  return sql`SELECT * FROM (${pages}) t ORDER BY t."createdAt" DESC LIMIT ${rows}`;
}

/** Reads the newest rows and gives those that match, how many were read, and the time that was reached. */
async function walkNewest(connection: Connection, search: TaskSearch) {
  const rows = await connection.query<Partial<TaskListItem> & Reach>(sql`
    WITH newest AS MATERIALIZED (${feed(search, WALKED_ROWS)})
    SELECT reach.*, t.* FROM (
      SELECT count(*) AS walked, min("createdAt") AS "reachedAt", max("createdAt") AS "newestAt",
             (SELECT min(created_at) FROM tasks) AS "oldestAt" FROM newest) reach
    LEFT JOIN LATERAL (
      SELECT * FROM newest t WHERE ${matches(search, { title: sql`t.title`, tags: sql`t.tags`, budget: sql`t."maxBudgetCents"` })}
      ORDER BY t."createdAt" DESC LIMIT ${search.limit}) t ON true
    ORDER BY t."createdAt" DESC`);
  const [first] = rows;
  if (first === undefined) throw new Error("an aggregate without groups has one row");
  const { walked, reachedAt, newestAt, oldestAt } = first;
  const found = rows.flatMap(({ walked: _, reachedAt: __, newestAt: ___, oldestAt: ____, ...task }) =>
    isTask(task) ? [task] : [],
  );
  return { found, walked, reachedAt, newestAt, oldestAt };
}

interface Reach {
  walked: number;
  reachedAt: string | null;
  newestAt: string | null;
  oldestAt: string | null;
}

/** The row of a walk that found nothing has a reach and no task. */
const isTask = (row: Partial<TaskListItem>): row is TaskListItem => typeof row.id === "string";

interface Columns {
  title: Sql;
  tags: Sql;
  budget: Sql;
}

/** The filters beside status and time, exactly. */
function matches({ tag, query, minBudgetCents, maxBudgetCents }: TaskSearch, { title, tags, budget }: Columns): Sql {
  return sql`true
    ${tag === undefined ? empty : sql`AND ${tags} @> ARRAY[${tag}]`}
    ${query === undefined ? empty : sql`AND strpos(search_fold(${title}), search_fold(${query})) > 0`}
    ${minBudgetCents === undefined ? empty : sql`AND ${budget} >= ${minBudgetCents}`}
    ${maxBudgetCents === undefined ? empty : sql`AND ${budget} <= ${maxBudgetCents}`}`;
}

/**
 * The newest matches of a stretch (seconds, both ends included) that are older than `before`, by the inverted index.
 * `created_at + '0'` keeps the planner from the feed's index, which it likes too much for what it takes to be frequent.
 */
function findInStretch(
  connection: Connection,
  search: TaskSearch,
  { from, to, before }: { from: number; to: number; before: string },
  rows: number,
): Promise<TaskListItem[]> {
  const { statuses, tag, query, minBudgetCents = 0, maxBudgetCents = MAX_BUDGET } = search;
  const terms = sql`task_search_terms(t.title, t.tags, t.max_budget_cents, t.status, t.created_at)`;
  const has = (any: readonly string[]) => sql`AND ${terms} && search_hash(${any}::text[])`;
  const filtersBudget = search.minBudgetCents !== undefined || search.maxBudgetCents !== undefined;
  return connection.query<TaskListItem>(sql`
    SELECT ${taskListColumns} FROM tasks t
    WHERE ${matches(search, { title: sql`t.title`, tags: sql`t.tags`, budget: sql`t.max_budget_cents` })}
      AND t.status = ANY (${statuses}::text[])
      AND t.created_at + interval '0' < ${before}::timestamptz
      AND t.created_at + interval '0' >= to_timestamp(${from}) AND t.created_at + interval '0' < to_timestamp(${to + 1})
      ${has(statuses.map((status) => `s${status}`))}
      ${tag === undefined ? empty : has([`t${tag}`])}
      ${query === undefined ? empty : sql`AND ${terms} @> search_query_terms(${query})`}
      ${filtersBudget ? has(rangeTerms("b", minBudgetCents, maxBudgetCents, { finest: 0, coarsest: 7 })) : empty}
      ${has(rangeTerms("c", from, to, { finest: 2, coarsest: 8 }))}
    ORDER BY t.created_at + interval '0' DESC LIMIT ${rows}`);
}

const MAX_BUDGET = 2 ** 31 - 1;

/**
 * The fewest terms that cover a range of integers, both ends included, where a term of scale `n` stands for 16 ** n of
 * them. The ends are rounded outwards to the finest scale.
 */
export function rangeTerms(
  kind: string,
  from: number,
  to: number,
  { finest, coarsest }: { finest: number; coarsest: number },
): string[] {
  const terms: string[] = [];
  let low = Math.floor(from / 16 ** finest);
  let high = Math.floor(to / 16 ** finest);
  for (let scale = finest; low <= high; scale++) {
    const add = (value: number) => terms.push(`${kind}${scale}:${value}`);
    if (scale === coarsest) {
      while (low <= high) add(low++);
      break;
    }
    while (low <= high && low % 16 !== 0) add(low++);
    while (low <= high && high % 16 !== 15) add(high--);
    if (low > high) break;
    low /= 16;
    high = Math.floor(high / 16);
  }
  return terms;
}
