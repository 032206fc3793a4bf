import type { TaskStatus } from "../../schemas/task.ts";
import { empty, hidden, join, literal, type Sql, sql } from "../../store/connection.ts";
import { rowLimit } from "../../store/cursorLists.ts";
import { taskListColumns } from "../tasks/records.ts";
import type { TaskSearch } from "./filters.ts";

/**
 * Returns the statement for a page of the feed, which reads the feed's index. With several statuses, it takes the
 * newest tasks of each, then the newest of those.
 */
export function feed({ statuses, cursor }: TaskSearch, rows: number, columns = taskListColumns): Sql {
  const older = cursor === undefined ? empty : sql`AND t.created_at < ${hidden(sql`${cursor}::timestamptz`)}`;
  // A plan for each status: how to find the newest depends on how common it is.
  const page = (status: TaskStatus) => sql`
      SELECT ${columns} FROM tasks t
      WHERE t.status = ${literal(status)}
        ${older}
      ORDER BY t.created_at DESC LIMIT ${rowLimit(rows)}`;
  const [status, ...others] = statuses;
  if (status !== undefined && others.length === 0) return page(status);
  const pages = join(
    statuses.map((status) => sql`(${page(status)})`),
    " UNION ALL ",
  );
  return sql`SELECT * FROM (${pages}) t ORDER BY t."createdAt" DESC LIMIT ${rows}`;
}
