import type { TaskListItem, TaskStatus } from "../../schemas/task.ts";
import { type Connection, empty, join, type Sql, sql } from "../../store/connection.ts";
import { taskListColumns } from "../tasks/records.ts";

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
const WALKED_ROWS = 250;

/** One task of so many is in the sample's index; the search migration has the same number. */
const SAMPLED_SHARE = 128;

/**
 * The newest tasks that match, newest first, in two to four statements. What is frequent is found among the newest rows.
 * Of the rest the inverted index gives all matches in a stretch of time; the matches of a sample tell how far back that
 * has to go, so that few more are fetched than asked for. What is rare is not in the sample: all of it is fetched.
 */
export async function searchTasks(connection: Connection, search: TaskSearch): Promise<TaskListItem[]> {
  const { tag, query, minBudgetCents, maxBudgetCents, limit } = search;
  if (tag === undefined && query === undefined && minBudgetCents === undefined && maxBudgetCents === undefined) {
    // One status is the front page: its plan is always the same one.
    const plan = search.statuses.length === 1 ? "cached" : "fresh";
    return connection.query<TaskListItem>(feed(search, limit), { plan });
  }
  const { found, walked, newestAt, reachedAt, queryTerms } = await walkNewest(connection, search);
  if (found.length === limit || walked < WALKED_ROWS || newestAt === null || reachedAt === null) return found;

  let before: string | null = reachedAt;
  const find = async (stretch: Stretch) => {
    found.push(...(await findBetween(connection, search, queryTerms, stretch, limit - found.length)));
    return stretch.since;
  };
  if (found.length >= limit / 5) {
    // So many say enough without a sample: twice the time in which the rest is to be expected.
    const expected = ((secondsOf(newestAt) - secondsOf(reachedAt)) * (limit - found.length)) / found.length;
    const since = timestampOf(Math.max(0, Math.floor(secondsOf(reachedAt) - 2 * expected - 1)));
    before = await find({ since, before, isStatusRare: true });
  }
  if (found.length === limit || before === null) return found;
  const { sampled, isStatusRare } = await sampleMatches(connection, search, queryTerms, before);
  while (found.length < limit && before !== null) {
    // On average this is more than is missing; if chance has it otherwise, the next stretch gives the rest.
    const ahead = Math.ceil((limit - found.length) / SAMPLED_SHARE) + 3;
    before = await find({ since: sampled.splice(0, ahead)[ahead - 1] ?? null, before, isStatusRare });
  }
  return found;
}

const timestampOf = (seconds: number) => new Date(seconds * 1000).toISOString();
const secondsOf = (timestamp: string) => Math.floor(Date.parse(timestamp) / 1000);

/** One page of the feed by its index; several statuses are the newest of each, and then the newest of all. */
function feed({ statuses, cursor }: TaskSearch, rows: number, columns = taskListColumns): Sql {
  const older = cursor === undefined ? empty : sql`AND t.created_at < ${cursor}::timestamptz`;
  const page = (status: TaskStatus | undefined) => sql`
      SELECT ${columns} FROM tasks t
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
    WITH newest AS MATERIALIZED (${feed(search, WALKED_ROWS, sql`${taskListColumns}, t.folded_title`)})
    SELECT reach.*, t.* FROM (
      SELECT count(*) AS walked, min("createdAt") AS "reachedAt", max("createdAt") AS "newestAt",
             search_query_terms(${search.query ?? null}) AS "queryTerms" FROM newest) reach
    LEFT JOIN LATERAL (
      SELECT * FROM newest t WHERE ${matches(search, { tags: sql`t.tags`, budget: sql`t."maxBudgetCents"` })}
      ORDER BY t."createdAt" DESC LIMIT ${search.limit}) t ON true
    ORDER BY t."createdAt" DESC`,
    { plan: "fresh" },
  );
  const [first] = rows;
  if (first === undefined) throw new Error("an aggregate without groups has one row");
  const { walked, reachedAt, newestAt, queryTerms } = first;
  const found: TaskListItem[] = rows.filter(isTask);
  return { found, walked, reachedAt, newestAt, queryTerms: [...new Set(queryTerms)] };
}

interface Reach {
  walked: number;
  reachedAt: string | null;
  newestAt: string | null;
  queryTerms: number[] | null;
}

/** The row of a walk that found nothing has a reach and no task. */
const isTask = <Row extends Partial<TaskListItem>>(row: Row): row is Row & TaskListItem => typeof row.id === "string";

interface Columns {
  tags: Sql;
  budget: Sql;
}

/** The filters beside status and time, exactly. */
function matches({ tag, query, minBudgetCents, maxBudgetCents }: TaskSearch, { tags, budget }: Columns): Sql {
  return sql`true
    ${tag === undefined ? empty : sql`AND ${tags} @> ARRAY[${tag}]`}
    ${query === undefined ? empty : sql`AND strpos(t.folded_title, upper(lower(normalize(${query}::text)))) > 0`}
    ${minBudgetCents === undefined ? empty : sql`AND ${budget} >= ${minBudgetCents}`}
    ${maxBudgetCents === undefined ? empty : sql`AND ${budget} <= ${maxBudgetCents}`}`;
}

/** As the sample's index has it, without a parameter: the planner has to see that it is the same. */
const isSampled = sql`uuid_hash(t.id) & 127 = 0`;

/** When the sampled matches were created, newest first, and whether the statuses exclude most of what matches otherwise. */
async function sampleMatches(
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

interface Stretch {
  /** Included; null reaches back to the first task. */
  since: string | null;
  /** Not included. */
  before: string;
  /** A status' list may be as long as the table: it is only worth comparing where it excludes much. */
  isStatusRare: boolean;
}

/** The newest matches of a stretch of time. */
async function findBetween(
  connection: Connection,
  search: TaskSearch,
  queryTerms: readonly number[],
  { since, before, isStatusRare }: Stretch,
  rows: number,
): Promise<TaskListItem[]> {
  // Matches newer than `before` are few unless a cursor hides them, so without one the range may end where few terms do.
  const until = search.cursor === undefined ? endOfTerm(secondsOf(before), 7) : secondsOf(before);
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

const terms = sql`task_search_terms(t.folded_title, t.tags, t.max_budget_cents, t.status, t.created_at)`;
const hasAny = (any: readonly string[]) => sql`${terms} && search_hash(${any}::text[])`;

/**
 * The filters by the inverted index. Each term is a condition of its own, so that the index jumps from one list to
 * the next instead of looking for a match in one of them alone. Comparing expressions instead of columns keeps the planner
 * from the feed's index, whose rows it would have to sort out.
 */
function filtersInIndex(search: TaskSearch, queryTerms: readonly number[]): Sql {
  const { tag, minBudgetCents, maxBudgetCents } = search;
  const conditions = [
    tag === undefined ? [] : [hasAny([`t${tag}`])],
    minBudgetCents === undefined && maxBudgetCents === undefined
      ? []
      : [hasAny(rangeTerms("b", minBudgetCents ?? 0, maxBudgetCents ?? MAX_BUDGET))],
    queryTerms.map((term) => sql`${terms} @> ARRAY[${term}::integer]`),
    [matches(search, { tags: sql`t.tags || '{}'`, budget: sql`(t.max_budget_cents + 0)` })],
  ];
  return join(conditions.flat(), " AND ");
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

/** The last integer that the term of this scale stands for that has `value`. */
const endOfTerm = (value: number, scale: number) => (Math.floor(value / 16 ** scale) + 1) * 16 ** scale - 1;

/** The coarsest scale of budgets; times have one more. */
const COARSEST_SCALE = 7;
