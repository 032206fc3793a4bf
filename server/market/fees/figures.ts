import type { FeeFigures } from "../../schemas/operations.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { readPlatformCents, WITHDRAWAL_PREFIX } from "./withdrawals.ts";

const MONTHS_SHOWN = 12;
const WITHDRAWALS_SHOWN = 20;

/** Reads what the platform has earned and withdrawn, by the months of this zone; null while there has never been a schedule. */
export async function readFeeFigures(connection: Connection, timeZone: string): Promise<FeeFigures | null> {
  const schedules = await connection.query(sql`SELECT FROM fee_schedules LIMIT 1`);
  if (schedules.length === 0) return null;
  const months = await connection.query<FeeFigures["months"][number]>(sql`
    SELECT to_char(date_trunc('month', created_at AT TIME ZONE ${timeZone}), 'YYYY-MM') AS month,
           coalesce(sum(amount_cents) FILTER (WHERE amount_cents > 0), 0)::bigint AS "earnedCents",
           coalesce(-sum(amount_cents) FILTER (WHERE amount_cents < 0), 0)::bigint AS "withdrawnCents"
    FROM ledger_entries WHERE bucket = 'platform' GROUP BY month ORDER BY month DESC LIMIT ${MONTHS_SHOWN}`);
  const withdrawals = await connection.query<FeeFigures["withdrawals"][number]>(sql`
    SELECT substr(t.external_ref, ${WITHDRAWAL_PREFIX.length + 1}) AS reference, -e.amount_cents AS "amountCents",
           e.created_at AS "createdAt"
    FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    WHERE e.bucket = 'platform' AND e.amount_cents < 0 ORDER BY e.created_at DESC LIMIT ${WITHDRAWALS_SHOWN}`);
  return { platformCents: await readPlatformCents(connection), months, withdrawals };
}
