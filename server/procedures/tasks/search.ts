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

/** What is frequent is among the newest rows: so many are read first, in the feed's own index. */
const WALKED_ROWS = 400;
/** More matches than this are not fetched to find the newest of them: a shorter stretch of time is asked instead. */
const MAX_FETCHED_ROWS = 1_000;
const MIN_STRETCH_SECONDS = 256;

/**
 * The newest tasks that match, newest first. What is frequent is found among the newest rows. Then the inverted index is
 * asked for stretches of time, as long as the matches so far let expect enough of them: without any, all of the past at
 * once, since what is rare costs little to fetch. A stretch with too many matches is halved. See the search migration for the index.
 */
export async function searchTasks(connection: Connection, search: TaskSearch): Promise<TaskListItem[]> {
  const { tag, query, minBudgetCents, maxBudgetCents, limit } = search;
  if (tag === undefined && query === undefined && minBudgetCents === undefined && maxBudgetCents === undefined) {
    // One status is the front page: its plan is always the same one.
    const plan = search.statuses.length === 1 ? "cached" : "fresh";
    return connection.query<TaskListItem>(feed(search, limit), { plan });
  }
  const { walked, reachedAt, newestAt, oldestAt, queryTerms, ...newestRows } = await walkNewest(connection, search);
  const found: TaskListItem[] = newestRows.found;
  if (found.length === limit || walked < WALKED_ROWS || reachedAt === null) return found;

  const newest = secondsOf(newestAt);
  const oldest = secondsOf(oldestAt);
  let upper = secondsOf(reachedAt) + 1;
  // A stretch that had too many matches, by its lower end; the newest of them that are missing are not older than `edge`.
  let crowded: { from: number; edge: number } | null = null;
  while (found.length < limit && upper > oldest) {
    const missing = limit - found.length;
    const expected = found.length === 0 ? Number.POSITIVE_INFINITY : (2 * (newest - upper) * missing) / found.length;
    const end = crowded === null ? oldest : Math.max(crowded.edge, (crowded.from + upper) / 2);
    const stretch = Math.max(MIN_STRETCH_SECONDS, Math.ceil(Math.min(expected, upper - end)));
    const lower = upper - stretch;
    const range = { from: lower, to: upper - 1, before: reachedAt, isRest: lower <= oldest };
    const { tasks, isComplete } = await findInStretch(connection, search, queryTerms, range, missing);
    if (isComplete) {
      found.push(...tasks);
      upper = lower;
      if (crowded !== null && upper <= crowded.from) crowded = null;
    } else {
      crowded = { from: lower, edge: secondsOf(tasks.at(-1)?.createdAt ?? null) };
    }
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

/** Reads the newest rows and gives those that match, how far that went, and the hashes that the query needs. */
async function walkNewest(connection: Connection, search: TaskSearch) {
  const rows = await connection.query<Partial<TaskListItem> & Reach>(
    sql`
    WITH newest AS MATERIALIZED (${feed(search, WALKED_ROWS)})
    SELECT reach.*, t.* FROM (
      SELECT count(*) AS walked, min("createdAt") AS "reachedAt", max("createdAt") AS "newestAt",
             (SELECT min(created_at) FROM tasks) AS "oldestAt",
             search_query_terms(${search.query ?? null}) AS "queryTerms" FROM newest) reach
    LEFT JOIN LATERAL (
      SELECT * FROM newest t WHERE ${matches(search, { title: sql`t.title`, tags: sql`t.tags`, budget: sql`t."maxBudgetCents"` })}
      ORDER BY t."createdAt" DESC LIMIT ${search.limit}) t ON true
    ORDER BY t."createdAt" DESC`,
    { plan: "fresh" },
  );
  const [first] = rows;
  if (first === undefined) throw new Error("an aggregate without groups has one row");
  const { walked, reachedAt, newestAt, oldestAt, queryTerms } = first;
  return { found: rows.filter(isTask), walked, reachedAt, newestAt, oldestAt, queryTerms: [...new Set(queryTerms)] };
}

interface Reach {
  walked: number;
  reachedAt: string | null;
  newestAt: string | null;
  oldestAt: string | null;
  queryTerms: number[] | null;
}

/** The row of a walk that found nothing has a reach and no task. */
const isTask = <Row extends Partial<TaskListItem>>(row: Row): row is Row & TaskListItem => typeof row.id === "string";

interface Columns {
  title: Sql;
  tags: Sql;
  budget: Sql;
}

/** The one form in which titles and queries are compared; the search migration has it, too. */
const folded = (text: Sql) => sql`upper(lower(normalize(${text})))`;

/** The filters beside status and time, exactly. */
function matches({ tag, query, minBudgetCents, maxBudgetCents }: TaskSearch, { title, tags, budget }: Columns): Sql {
  return sql`true
    ${tag === undefined ? empty : sql`AND ${tags} @> ARRAY[${tag}]`}
    ${query === undefined ? empty : sql`AND strpos(${folded(title)}, ${folded(sql`${query}::text`)}) > 0`}
    ${minBudgetCents === undefined ? empty : sql`AND ${budget} >= ${minBudgetCents}`}
    ${maxBudgetCents === undefined ? empty : sql`AND ${budget} <= ${maxBudgetCents}`}`;
}

interface Stretch {
  /** Seconds, both ends included. */
  from: number;
  to: number;
  /** Only tasks that are older: those that are younger have been walked. */
  before: string;
  /** True when nothing is older than `from`. */
  isRest: boolean;
}

/**
 * The newest matches of a stretch of time by the inverted index; of some of them, when they are too many. Each term is a condition of its own, so
 * that the index jumps from one list to the next instead of looking for a match in one of them alone. Comparing
 * expressions instead of columns keeps the planner from the feed's index, whose rows it would have to sort out.
 */
async function findInStretch(
  connection: Connection,
  search: TaskSearch,
  queryTerms: readonly number[],
  { from, to, before, isRest }: Stretch,
  rows: number,
): Promise<{ tasks: TaskListItem[]; isComplete: boolean }> {
  const { statuses, tag, minBudgetCents = 0, maxBudgetCents = MAX_BUDGET } = search;
  const terms = sql`task_search_terms(t.title, t.tags, t.max_budget_cents, t.status, t.created_at)`;
  const hasAny = (any: readonly string[]) => sql`AND ${terms} && search_hash(${any}::text[])`;
  const isShortest = to - from < MIN_STRETCH_SECONDS;
  const filtersBudget = search.minBudgetCents !== undefined || search.maxBudgetCents !== undefined;
  const fetched = await connection.query<TaskListItem & { fetched: number }>(
    sql`
    WITH fetched AS MATERIALIZED (
      SELECT ${taskListColumns} FROM tasks t
      WHERE ${matches(search, { title: sql`t.title`, tags: sql`t.tags || '{}'`, budget: sql`(t.max_budget_cents + 0)` })}
        AND t.status || '' = ANY (${statuses}::text[]) AND t.created_at + interval '0' < ${before}::timestamptz
        AND t.created_at + interval '0' >= to_timestamp(${from}) AND t.created_at + interval '0' < to_timestamp(${to + 1})
        ${tag === undefined ? empty : hasAny([`t${tag}`])}
        ${
          queryTerms.length === 0
            ? empty
            : join(
                queryTerms.map((term) => sql`AND ${terms} @> ARRAY[${term}::integer]`),
                " ",
              )
        }
        ${filtersBudget ? hasAny(rangeTerms("b", minBudgetCents, maxBudgetCents)) : empty}
        ${isRest ? empty : hasAny(rangeTerms("c", from, to, { finest: 2 }))}
        ${hasAny(statuses.map((status) => `s${status}`))}
      LIMIT ${isShortest ? null : MAX_FETCHED_ROWS + 1})
    SELECT t.*, (SELECT count(*) FROM fetched) AS fetched FROM fetched t ORDER BY "createdAt" DESC LIMIT ${rows}`,
    { plan: "fresh" },
  );
  const isComplete = (fetched[0]?.fetched ?? 0) <= MAX_FETCHED_ROWS || isShortest;
  return { tasks: fetched.map(({ fetched: _, ...task }) => task), isComplete };
}

const MAX_BUDGET = 2 ** 31 - 1;

/** The index reads a list for each term, side by side: few terms with a little too much are faster than many exact ones. */
const MAX_RANGE_TERMS = 64;

/**
 * Terms that cover a range of integers, both ends included, where a term of scale `n` stands for 16 ** n of them. If they
 * would be too many, the ends are rounded outwards to a coarser scale; the exact filters drop what stands there.
 */
export function rangeTerms(kind: string, from: number, to: number, { finest = 0 } = {}): string[] {
  const terms: string[] = [];
  let low = Math.floor(from / 16 ** finest);
  let high = Math.floor(to / 16 ** finest);
  for (let scale = finest; low <= high; scale++) {
    const add = (value: number) => terms.push(`${kind}${scale}:${value}`);
    const isCoarsest = scale === COARSEST_SCALE;
    while (low <= high && (isCoarsest || low % 16 !== 0)) add(low++);
    while (low <= high && high % 16 !== 15) add(high--);
    if (low > high) break;
    low /= 16;
    high = Math.floor(high / 16);
  }
  return terms.length > MAX_RANGE_TERMS && finest < COARSEST_SCALE - 1
    ? rangeTerms(kind, from, to, { finest: finest + 1 })
    : terms;
}

/** The coarsest scale of budgets; times have one more. */
const COARSEST_SCALE = 7;
