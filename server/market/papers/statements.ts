import type { Statement } from "../../schemas/statement.ts";
import { type Connection, queryOne, type Sql, sql } from "../../store/connection.ts";
import { csvOf } from "./csv.ts";

type Balances = Statement["opening"];

/** A month as it is read: without the balances, but for what was there before its first moment. */
interface Month extends Pick<Statement, "month" | "feeCents" | "feeTaxCents"> {
  startsAt: string;
  sums: Statement["sums"] | null;
  before: Balances;
}

/** The balance of one bucket before the page's first month, which the last entry before it says. */
const balanceBefore = (userId: Sql, bucket: Sql) => sql`coalesce((
  SELECT e.balance_after_cents FROM ledger_entries e
  WHERE e.user_id = ${userId} AND e.bucket = ${bucket} AND e.created_at < (SELECT min(starts_at) FROM months)
  ORDER BY e.created_at DESC LIMIT 1), 0)`;

/**
 * Reads the months of a wallet that began before `cursor`, newest first: every month from its first entry to the current one, so
 * that each opens with what the one before has closed with. All of it is from the ledger's entries, in one snapshot.
 */
export async function readStatements(
  connection: Connection,
  userId: string,
  { timeZone, cursor, limit }: { timeZone: string; cursor?: string | undefined; limit: number },
): Promise<{ statements: Statement[]; nextCursor: string | null }> {
  const user = sql`${userId}::uuid`;
  const months = await connection.query<Month>(sql`
    WITH span AS (
      SELECT date_trunc('month', first.created_at AT TIME ZONE ${timeZone}) AS first,
             date_trunc('month', (least(service_now(), ${cursor ?? null}::timestamptz) - interval '1 microsecond')
               AT TIME ZONE ${timeZone}) AS last
      FROM (
        SELECT created_at FROM ledger_entries WHERE user_id = ${user} AND bucket IN ('available', 'held')
        ORDER BY created_at LIMIT 1) first
    ), months AS (
      SELECT start, start AT TIME ZONE ${timeZone} AS starts_at, (start + interval '1 month') AT TIME ZONE ${timeZone} AS ends_at
      FROM span, generate_series(
        greatest(first, last - ${limit - 1} * interval '1 month'), last, interval '1 month') AS start
    ), sums AS (
      SELECT m.start, e.kind, e.bucket, sum(e.amount_cents)::bigint AS cents
      FROM months m JOIN ledger_entries e ON e.user_id = ${user} AND e.created_at >= m.starts_at AND e.created_at < m.ends_at
      WHERE e.bucket IN ('available', 'held') GROUP BY m.start, e.kind, e.bucket
    ), fees AS (
      -- Each fee includes its own tax, rounded down, at the rate that its bid froze.
      SELECT m.start, sum(-e.amount_cents)::bigint AS cents,
             sum(-e.amount_cents * s.tax_basis_points / (10000 + s.tax_basis_points))::bigint AS tax_cents
      FROM months m JOIN ledger_entries e ON e.user_id = ${user} AND e.created_at >= m.starts_at AND e.created_at < m.ends_at
      JOIN ledger_transfers t ON t.id = e.transfer_id JOIN bids b ON b.id = t.bid_id
      JOIN fee_schedules s ON s.id = b.fee_schedule_id
      WHERE e.kind = 'platform_fee' GROUP BY m.start
    )
    SELECT to_char(m.start, 'YYYY-MM') AS month, m.starts_at AS "startsAt",
           (SELECT json_agg(json_build_object('kind', kind, 'bucket', bucket, 'amountCents', cents) ORDER BY kind, bucket)
              FROM sums WHERE sums.start = m.start) AS sums,
           coalesce(f.cents, 0) AS "feeCents", coalesce(f.tax_cents, 0) AS "feeTaxCents",
           json_build_object('availableCents', ${balanceBefore(user, sql`'available'`)},
                             'heldCents', ${balanceBefore(user, sql`'held'`)}) AS before
    FROM months m LEFT JOIN fees f ON f.start = m.start ORDER BY m.start`);
  const statements = chained(months);
  const oldest = months[0];
  return { statements: statements.toReversed(), nextCursor: months.length < limit || !oldest ? null : oldest.startsAt };
}

/** Adds the balances, from month to month. */
function chained(months: readonly Month[]): Statement[] {
  let opening: Balances = months[0]?.before ?? { availableCents: 0, heldCents: 0 };
  return months.map(({ month, sums: found, feeCents, feeTaxCents }) => {
    const sums = found ?? [];
    const closing = { availableCents: opening.availableCents, heldCents: opening.heldCents };
    for (const { bucket, amountCents } of sums) closing[`${bucket}Cents`] += amountCents;
    const statement = { month, opening, closing, sums, feeCents, feeTaxCents };
    opening = closing;
    return statement;
  });
}

/** Reads one month; null if the wallet has no statement of it. */
export async function readStatement(
  connection: Connection,
  userId: string,
  { month, timeZone }: { month: string; timeZone: string },
): Promise<Statement | null> {
  const { end } = await queryOne<{ end: string }>(
    connection,
    sql`SELECT (to_date(${month}, 'YYYY-MM') + interval '1 month') AT TIME ZONE ${timeZone} AS end`,
  );
  const { statements } = await readStatements(connection, userId, { timeZone, cursor: end, limit: 1 });
  return statements.find((statement) => statement.month === month) ?? null;
}

const columns = ["month", "line", "kind", "bucket", "amountCents"] as const;

/** The lines of a statement: what it opened with, each sum, what it closed with, and the fees. */
export function statementAsCsv({ month, opening, closing, sums, feeCents, feeTaxCents }: Statement): string {
  const balances = (line: string, { availableCents, heldCents }: Balances) => [
    [month, line, null, "available", availableCents],
    [month, line, null, "held", heldCents],
  ];
  return csvOf(columns, [
    ...balances("opening", opening),
    ...sums.map(({ kind, bucket, amountCents }) => [month, "sum", kind, bucket, amountCents]),
    ...balances("closing", closing),
    [month, "fee", null, null, feeCents],
    [month, "feeTax", null, null, feeTaxCents],
  ]);
}
