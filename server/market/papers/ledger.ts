import { LedgerEntry } from "../../schemas/ledgerEntry.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { csvOf } from "./csv.ts";

/** Small enough that other requests do not wait while a page is read. */
const PAGE = 2_000;

/** Reads all entries of a wallet, newest first, page by page. */
export async function readEntries(connection: Connection, userId: string): Promise<LedgerEntry[]> {
  const pages: LedgerEntry[][] = [];
  let page: LedgerEntry[];
  let before = "infinity";
  do {
    page = await connection.query<LedgerEntry>(sql`
      SELECT e.id, e.user_id AS "userId", e.kind, e.bucket, e.amount_cents AS "amountCents", t.task_id AS "taskId",
             t.bid_id AS "bidId", t.external_ref AS "externalRef", e.created_at AS "createdAt"
      FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
      WHERE e.user_id = ${userId}::uuid AND e.bucket IN ('available', 'held') AND e.created_at < ${before}::timestamptz
      ORDER BY e.created_at DESC LIMIT ${PAGE}`);
    pages.push(page);
    before = page.at(-1)?.createdAt ?? before;
  } while (page.length === PAGE);
  return pages.flat();
}

const columns = Object.keys(LedgerEntry.shape) as (keyof LedgerEntry)[]; // the keys of a literal are its type's keys

export const ledgerAsCsv = (entries: readonly LedgerEntry[]): string =>
  csvOf(
    columns,
    entries.map((entry) => columns.map((column) => entry[column])),
  );
