import { type Connection, sql } from "../../store/connection.ts";
import { csvOf } from "./csv.ts";

/** What a bidder earned in a quarter. */
export interface EarnedInQuarter {
  bidderId: string;
  /** Null for a closed account. */
  email: string | null;
  quarter: string;
  grossCents: number;
  feeCents: number;
  netCents: number;
  tasks: number;
}

/** Returns what each bidder earned in each quarter of a year, by the calendar of this zone. All of it is from the ledger's entries. */
export function readEarnings(
  connection: Connection,
  { year, timeZone }: { year: number; timeZone: string },
): Promise<EarnedInQuarter[]> {
  const startOf = (of: number) => sql`(make_timestamp(${of}, 1, 1, 0, 0, 0) AT TIME ZONE ${timeZone})`;
  return connection.query<EarnedInQuarter>(
    sql`
    SELECT e.user_id AS "bidderId", CASE WHEN u.closed_at IS NULL THEN u.email END AS email,
           to_char(date_trunc('quarter', e.created_at AT TIME ZONE ${timeZone}), 'YYYY-"Q"Q') AS quarter,
           coalesce(sum(e.amount_cents) FILTER (WHERE e.kind = 'task_earning'), 0)::bigint AS "grossCents",
           coalesce(-sum(e.amount_cents) FILTER (WHERE e.kind = 'platform_fee'), 0)::bigint AS "feeCents",
           sum(e.amount_cents)::bigint AS "netCents", count(DISTINCT t.task_id) AS tasks
    FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id JOIN users u ON u.id = e.user_id
    WHERE e.kind IN ('task_earning', 'platform_fee') AND e.bucket = 'available'
      AND e.created_at >= ${startOf(year)} AND e.created_at < ${startOf(year + 1)}
    GROUP BY e.user_id, u.id, quarter ORDER BY e.user_id, quarter`,
    { plan: "fresh" },
  );
}

const columns = ["bidderId", "email", "quarter", "grossCents", "feeCents", "netCents", "tasks"] as const;

export const earningsAsCsv = (earned: readonly EarnedInQuarter[]): string =>
  csvOf(
    columns,
    earned.map((row) => columns.map((column) => row[column])),
  );
