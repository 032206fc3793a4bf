import { DEFAULT_PAGE_ROWS } from "../schemas/common.ts";
import { type Connection, empty, hidden, literal, type Sql, sql } from "./connection.ts";

export interface CursorList {
  table: string;
  /** The column that orders the list and is its cursor, as the list's statement names it. */
  createdAt: Sql;
  /** That column's name, where it is not `created_at`. */
  column?: string;
  /** The columns that a page can select its rows by, such as a status or a user. Each page statement uses one. */
  filterColumns: readonly string[];
  oldestFirst?: boolean;
}

/**
 * Every list that clients page through by cursor, under the path of its procedure. The cursor is the `created_at` of the
 * last row seen, and the next page starts strictly after it. Three things make that work, and this table is where a list
 * declares them:
 *
 * 1. No two rows of one list share `created_at`, or a page boundary between them would skip one. The unique constraint
 *    `<table>_feed_key` on (`created_at`) guarantees it, or one on (the filter column, `created_at`) if there is only one.
 * 2. A transaction that violates this constraint runs again (`isRetryable`), because a tie happens only by chance.
 * 3. An index on (a filter column, `created_at`) returns the rows in order, so no page needs to sort the whole list.
 *
 * `test/store/cursorLists.test.ts` walks the router and fails if a list is not declared here or lacks one of the three.
 */
export const cursorLists = {
  "tasks.list": { table: "tasks", createdAt: sql`t.created_at`, filterColumns: ["status"] },
  "tasks.listOwn": { table: "tasks", createdAt: sql`t.created_at`, filterColumns: ["buyer_id", "awarded_bidder_id"] },
  "bids.listForTask": { table: "bids", createdAt: sql`b.created_at`, filterColumns: ["task_id"] },
  "bids.listOwn": { table: "bids", createdAt: sql`b.created_at`, filterColumns: ["bidder_id"] },
  "questions.list": { table: "questions", createdAt: sql`q.created_at`, filterColumns: ["task_id"] },
  "messages.list": { table: "messages", createdAt: sql`m.created_at`, filterColumns: ["bid_id"] },
  "messages.conversations": {
    ...{ table: "conversations", createdAt: sql`c.updated_at`, column: "updated_at", filterColumns: ["user_id"] },
  },
  // A trigger gives the entries of a wallet strictly increasing times, so its constraint is never violated by chance.
  "wallet.ledger": { table: "ledger_entries", createdAt: sql`e.created_at`, filterColumns: ["user_id"] },
  "payouts.list": { table: "payouts", createdAt: sql`p.created_at`, filterColumns: ["user_id"] },
  "exports.list": { table: "exports", createdAt: sql`x.created_at`, filterColumns: ["user_id"] },
  "webhooks.deliveries": { table: "webhook_deliveries", createdAt: sql`d.created_at`, filterColumns: ["endpoint_id"] },
  "users.list": { table: "users", createdAt: sql`u.created_at`, filterColumns: [] },
  "moderation.listActions": { table: "moderation_actions", createdAt: sql`a.created_at`, filterColumns: [] },
  "notifications.list": { table: "notifications", createdAt: sql`n.created_at`, filterColumns: ["user_id"] },
  "agreements.list": { table: "agreements", createdAt: sql`a.created_at`, filterColumns: ["task_id"] },
  "approvals.list": { table: "approvals", createdAt: sql`a.created_at`, filterColumns: ["user_id"] },
  "disputes.list": { table: "disputes", createdAt: sql`d.created_at`, filterColumns: [], oldestFirst: true },
} as const satisfies Record<string, CursorList>;

export type CursorListName = keyof typeof cursorLists;

/** The unique constraint that keeps the timestamps of a table's lists apart. */
export const feedConstraintOf = (table: string): string => `${table}_feed_key`;

/** What a client asks of a list. `cursor` is an ISO 8601 timestamp; without it, the page is the first one. */
export interface Page {
  cursor?: string | undefined;
  limit: number;
}

/** One page of a list: `select` (SELECT … FROM …) with the rows that match `where`, in the list's order. */
export function pageStatement(name: CursorListName, select: Sql, where: Sql, { cursor, limit }: Page): Sql {
  const { createdAt, oldestFirst = false }: CursorList = cursorLists[name];
  const after = oldestFirst ? sql`>` : sql`<`;
  return sql`
    ${select}
    WHERE ${where} ${cursor === undefined ? empty : sql`AND ${createdAt} ${after} ${hidden(sql`${cursor}::timestamptz`)}`}
    ORDER BY ${createdAt} ${oldestFirst ? sql`ASC` : sql`DESC`} LIMIT ${rowLimit(limit)}`;
}

/**
 * The limit that nearly everybody asks for is part of the statement. Of a parameter, Postgres expects a tenth of all rows, so
 * that it would plan each time (see `hidden`).
 */
export const rowLimit = (rows: number): Sql => (rows === DEFAULT_PAGE_ROWS ? literal(rows) : sql`${rows}`);

interface ListPage extends Page {
  select: Sql;
  /** What an index finds. */
  where: Sql;
  /** What else the rows must be. Many may be read and dropped until a page is full, so other requests do not wait behind it. */
  filter?: Sql | undefined;
}

/** Reads one page and returns its rows with the cursor of the next page. `select` must return `createdAt`. */
export async function readPage<Row extends { createdAt: string }>(
  connection: Connection,
  name: CursorListName,
  { select, where, filter, cursor, limit }: ListPage,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const condition = filter === undefined ? where : sql`${where} AND ${filter}`;
  const statement = pageStatement(name, select, condition, { cursor, limit });
  const rows = await connection.query<Row>(statement, filter === undefined ? { sharesConnection: true } : {});
  return { rows, nextCursor: nextCursorOf(rows, limit) };
}

/** The cursor of the next page: `createdAt` of the last row, or null if the page has fewer rows than requested. */
export function nextCursorOf(rows: readonly { createdAt: string }[], limit: number): string | null {
  return rows.length < limit ? null : (rows.at(-1)?.createdAt ?? null);
}
