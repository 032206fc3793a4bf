import type { TaskStatus } from "../../schemas/task.ts";
import { empty, join, type Sql, sql } from "../../store/connection.ts";
import { taskListColumns } from "../tasks/records.ts";
import type { TaskSearch } from "./filters.ts";

/**
 * Returns the statement for a page of the feed, which reads the feed's index. With several statuses, it takes the
 * newest tasks of each, then the newest of those.
 */
export function feed({ statuses, cursor }: TaskSearch, rows: number, columns = taskListColumns): Sql {
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
