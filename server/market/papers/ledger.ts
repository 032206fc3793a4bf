import { LedgerEntry } from "../../schemas/ledgerEntry.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { csvOf, csvRows } from "./csv.ts";

/** Small enough that other requests do not wait while a page is read. */
const PAGE = 2_000;

/** Reads all entries of a wallet, newest first, page by page. */
async function* readPages(connection: Connection, userId: string): AsyncGenerator<LedgerEntry[]> {
  let page: LedgerEntry[];
  let before = "infinity";
  do {
    page = await connection.query<LedgerEntry>(sql`
      SELECT e.id, e.user_id AS "userId", e.kind, e.bucket, e.amount_cents AS "amountCents", t.task_id AS "taskId",
             t.bid_id AS "bidId", t.external_ref AS "externalRef", e.created_at AS "createdAt"
      FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
      WHERE e.user_id = ${userId}::uuid AND e.bucket IN ('available', 'held') AND e.created_at < ${before}::timestamptz
      ORDER BY e.created_at DESC LIMIT ${PAGE}`);
    yield page;
    before = page.at(-1)?.createdAt ?? before;
  } while (page.length === PAGE);
}

const columns = Object.keys(LedgerEntry.shape) as (keyof LedgerEntry)[]; // the keys of a literal are its type's keys

/** All entries of a wallet, newest first, as a file's text, in pieces. */
export async function* ledgerAsText(
  connection: Connection,
  userId: string,
  format: "csv" | "json",
): AsyncGenerator<string> {
  let between = "";
  yield format === "csv" ? csvOf(columns, []) : '{"entries":[';
  for await (const page of readPages(connection, userId)) {
    if (format === "csv") yield csvRows(page.map((entry) => columns.map((column) => entry[column])));
    else if (page.length > 0) yield between + JSON.stringify(page).slice(1, -1);
    between = ",";
  }
  if (format === "json") yield "]}";
}
