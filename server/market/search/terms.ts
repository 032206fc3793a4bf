import { join, type Sql, sql } from "../../store/connection.ts";
import { matches, type TaskSearch } from "./filters.ts";

const terms = sql`task_search_terms(t.folded_title, t.folded_tags, t.max_budget_cents, t.status, t.created_at)`;

/** A condition on the inverted index: the task has at least one of these terms. */
export const hasAny = (wanted: readonly string[]) => sql`${terms} && search_hash(${wanted}::text[])`;

/**
 * The filters as conditions on the inverted index. Each term is a separate condition, so that the index skips from list
 * to list instead of scanning one of them. Comparing expressions instead of columns keeps the planner from choosing the
 * feed's index, where it would have to filter row by row.
 */
export function filtersInIndex(search: TaskSearch, queryTerms: readonly number[]): Sql {
  const { tag, minBudgetCents, maxBudgetCents } = search;
  const conditions = [
    tag === undefined ? [] : [sql`${terms} && search_hash(ARRAY['t' || (fold_tags(ARRAY[${tag}::text]))[1]])`],
    minBudgetCents === undefined && maxBudgetCents === undefined
      ? []
      : [hasAny(rangeTerms("b", minBudgetCents ?? 0, maxBudgetCents ?? MAX_BUDGET))],
    queryTerms.map((term) => sql`${terms} @> ARRAY[${term}::integer]`),
    [matches(search, { foldedTags: sql`t.folded_tags || '{}'`, budget: sql`(t.max_budget_cents + 0)` })],
  ];
  return join(conditions.flat(), " AND ");
}

/**
 * Each term is a condition that Postgres plans and looks up: with 40, a query of 80 characters took 9 ms, not 2. The exact
 * filter drops what a few of them let through.
 */
const MAX_QUERY_TERMS = 12;

/** Returns at most 12 of a query's terms, spread over its text, because many titles begin alike. */
export function boundedTerms(queryTerms: readonly number[]): number[] {
  const distinct = [...new Set(queryTerms)];
  const step = Math.max(1, distinct.length / MAX_QUERY_TERMS);
  return distinct.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

const MAX_BUDGET = 2 ** 31 - 1;

/**
 * The index reads one list per term: a few terms that cover a little too much are faster than many exact ones. With 16, they
 * cover so much that a rare budget took 260 ms, not 1.9; with 256, 3.3.
 */
const MAX_RANGE_TERMS = 64;

/** The coarsest scale used. It is the coarsest one that budgets are indexed at; times are also indexed at scale 8. */
const COARSEST_SCALE = 7;

/** A term of scale `n` covers this many integers to the power of `n`; the search migration repeats the number. */
const BASE = 16;

/**
 * Terms that cover a range of integers, both ends included; a term of scale `n` covers BASE ** n integers. When that
 * takes too many terms, the ends are rounded outwards to a coarser scale, and the exact filters drop the surplus.
 */
export function rangeTerms(kind: string, from: number, to: number, { finest = 0 } = {}): string[] {
  const terms: string[] = [];
  let low = Math.floor(from / BASE ** finest);
  let high = Math.floor(to / BASE ** finest);
  for (let scale = finest; low <= high; scale++) {
    const add = (value: number) => terms.push(`${kind}${scale}:${value}`);
    const isCoarsest = scale === COARSEST_SCALE;
    // What a coarser term would not cover exactly, at each end.
    while (low <= high && (isCoarsest || low % BASE !== 0)) add(low++);
    while (low <= high && high % BASE !== BASE - 1) add(high--);
    if (low > high) break;
    low /= BASE;
    high = Math.floor(high / BASE);
  }
  return terms.length > MAX_RANGE_TERMS && finest < COARSEST_SCALE - 1
    ? rangeTerms(kind, from, to, { finest: finest + 1 })
    : terms;
}

/** The finest scale that times are indexed at. */
const FINEST_TIME_SCALE = 2;

/** Terms that cover a range of creation times in seconds, both ends included. */
export const timeTerms = (from: number, to: number): string[] =>
  rangeTerms("c", from, to, { finest: FINEST_TIME_SCALE });
