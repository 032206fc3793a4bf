import type { TaskStatus } from "../../schemas/task.ts";
import { empty, type Sql, sql } from "../../store/connection.ts";

export interface TaskSearch {
  statuses: readonly TaskStatus[];
  /** As tags are stored: trimmed and lower-cased. */
  tag?: string | undefined;
  /** At least two characters, matched literally and in any case. */
  query?: string | undefined;
  minBudgetCents?: number | undefined;
  maxBudgetCents?: number | undefined;
  /** Only tasks older than this timestamp. */
  cursor?: string | undefined;
  limit: number;
}

interface Columns {
  tags: Sql;
  budget: Sql;
}

/** The exact condition for the filters other than status and time, on `t`. */
export function matches({ tag, query, minBudgetCents, maxBudgetCents }: TaskSearch, { tags, budget }: Columns): Sql {
  return sql`true
    ${tag === undefined ? empty : sql`AND ${tags} @> ARRAY[${tag}]`}
    ${query === undefined ? empty : sql`AND strpos(t.folded_title, upper(lower(normalize(${query}::text)))) > 0`}
    ${minBudgetCents === undefined ? empty : sql`AND ${budget} >= ${minBudgetCents}`}
    ${maxBudgetCents === undefined ? empty : sql`AND ${budget} <= ${maxBudgetCents}`}`;
}

/** Whether nothing but status and time is filtered. */
export function isUnfiltered({ tag, query, minBudgetCents, maxBudgetCents }: TaskSearch): boolean {
  return tag === undefined && query === undefined && minBudgetCents === undefined && maxBudgetCents === undefined;
}
