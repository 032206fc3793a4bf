import type { TaskStatus } from "../../schemas/task.ts";
import { empty, type Sql, sql } from "../../store/connection.ts";

export interface TaskSearch {
  statuses: readonly TaskStatus[];
  /** Trimmed; matched in any case. */
  tag?: string | undefined;
  /** At least two characters, matched literally, ignoring case. */
  query?: string | undefined;
  minBudgetCents?: number | undefined;
  maxBudgetCents?: number | undefined;
  /** Only tasks older than this timestamp. */
  cursor?: string | undefined;
  limit: number;
}

interface Columns {
  foldedTags: Sql;
  budget: Sql;
}

/** The exact condition on `t` for all filters except status and time. */
export function matches(
  { tag, query, minBudgetCents, maxBudgetCents }: TaskSearch,
  { foldedTags, budget }: Columns,
): Sql {
  return sql`true
    ${tag === undefined ? empty : sql`AND ${foldedTags} @> fold_tags(ARRAY[${tag}::text])`}
    ${query === undefined ? empty : sql`AND strpos(t.folded_title, upper(lower(normalize(${query}::text)))) > 0`}
    ${minBudgetCents === undefined ? empty : sql`AND ${budget} >= ${minBudgetCents}`}
    ${maxBudgetCents === undefined ? empty : sql`AND ${budget} <= ${maxBudgetCents}`}`;
}

/** The condition on `t` for a trimmed tag, in any case. */
export const hasTag = (tag: string): Sql => sql`AND t.folded_tags @> fold_tags(ARRAY[${tag}::text])`;

/** Whether there are no filters except status and time. */
export function isUnfiltered({ tag, query, minBudgetCents, maxBudgetCents }: TaskSearch): boolean {
  return tag === undefined && query === undefined && minBudgetCents === undefined && maxBudgetCents === undefined;
}
