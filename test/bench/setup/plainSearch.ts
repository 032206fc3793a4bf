import pg from "pg";
import type { TaskSearch } from "../../../server/market/search/filters.ts";
import { taskListColumns } from "../../../server/market/tasks/records.ts";
import { type Connection, join, sql } from "../../../server/store/connection.ts";

/** Creates the indexes of the plainest search: trigrams of titles, tags, budgets. The planner chooses among them and the feed's. */
export async function createPlainIndexes(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX plain_title_idx ON tasks USING gin (folded_title gin_trgm_ops);
    CREATE INDEX plain_tags_idx ON tasks USING gin (folded_tags);
    CREATE INDEX plain_budget_idx ON tasks (max_budget_cents)`);
  await client.query("VACUUM ANALYZE tasks");
  await client.end();
}

/** The plainest search: one statement, with each filter as a condition. */
export function searchPlainly(connection: Connection, search: TaskSearch): Promise<unknown[]> {
  const { statuses, tag, query, minBudgetCents, maxBudgetCents, cursor, limit } = search;
  const pattern = query === undefined ? "" : `%${query.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const filters = [
    tag === undefined ? [] : sql`t.folded_tags @> fold_tags(ARRAY[${tag}::text])`,
    query === undefined ? [] : sql`t.folded_title LIKE upper(lower(normalize(${pattern}::text)))`,
    minBudgetCents === undefined ? [] : sql`t.max_budget_cents >= ${minBudgetCents}`,
    maxBudgetCents === undefined ? [] : sql`t.max_budget_cents <= ${maxBudgetCents}`,
    cursor === undefined ? [] : sql`t.created_at < ${cursor}::timestamptz`,
  ].flat();
  return connection.query(
    sql`
    SELECT ${taskListColumns} FROM tasks t
    WHERE ${join([sql`t.status = ANY (${[...statuses]}::text[])`, ...filters], " AND ")}
    ORDER BY t.created_at DESC LIMIT ${limit}`,
    { plan: "fresh" },
  );
}
