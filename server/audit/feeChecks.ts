import { type Sql, sql } from "../store/connection.ts";

/** What a schedule `s` takes of an amount, computed apart from the code that took it. */
const feeOf = (cents: Sql, minCents: Sql) => sql`
  least(greatest(${cents}::bigint * s.basis_points / 10000, ${minCents}), coalesce(s.max_cents, ${cents}), ${cents})`;

/** The checks of the platform's fee within the database, like `databaseChecks`. */
export const feeChecks: Record<string, Sql> = {
  "each bid has the fee of the schedule of its time": sql`
    SELECT 'bid ' || b.id AS subject, format('%s cents by schedule %s', due.cents, s.id) AS expected,
           format('%s cents by schedule %s', b.fee_cents, b.fee_schedule_id) AS actual
    FROM bids b
    LEFT JOIN LATERAL (
      SELECT * FROM fee_schedules WHERE starts_at <= coalesce(b.priced_at, b.created_at)
      ORDER BY starts_at DESC, created_at DESC LIMIT 1
    ) s ON true
    CROSS JOIN LATERAL (
      SELECT CASE WHEN s.id IS NOT NULL THEN ${feeOf(sql`b.price_cents`, sql`s.min_cents`)} END AS cents
    ) due
    WHERE b.fee_schedule_id IS DISTINCT FROM s.id OR b.fee_cents IS DISTINCT FROM due.cents`,

  "each payment took the fee of its bid once, from the bidder": sql`
    SELECT 'task ' || t.id AS subject, format('%s from %s', due.cents, t.awarded_bidder_id) AS expected,
           format('%s from %s', coalesce(taken.cents, 0), taken.payer) AS actual
    FROM tasks t
    LEFT JOIN bids b ON b.id = t.awarded_bid_id
    LEFT JOIN fee_schedules s ON s.id = b.fee_schedule_id
    LEFT JOIN disputes d ON d.task_id = t.id AND d.status = 'resolved'
    LEFT JOIN agreements a ON a.task_id = t.id AND a.kind = 'settle' AND a.status = 'accepted'
    CROSS JOIN LATERAL (SELECT CASE t.status
      WHEN 'accepted' THEN b.price_cents WHEN 'resolved' THEN coalesce(a.bidder_cents, d.bidder_cents) ELSE 0 END AS cents
    ) paid
    CROSS JOIN LATERAL (SELECT CASE
      WHEN s.id IS NULL OR paid.cents = 0 THEN 0
      WHEN paid.cents = b.price_cents THEN b.fee_cents
      -- A moderator's split is without the minimum.
      ELSE ${feeOf(sql`paid.cents`, sql`CASE WHEN a.id IS NULL THEN 0 ELSE s.min_cents END`)} END AS cents
    ) due
    LEFT JOIN (
      SELECT l.task_id, sum(e.amount_cents) FILTER (WHERE e.bucket = 'platform') AS cents,
             string_agg(DISTINCT e.user_id::text, ', ') AS payer
      FROM ledger_entries e JOIN ledger_transfers l ON l.id = e.transfer_id WHERE e.kind = 'platform_fee' GROUP BY l.task_id
    ) taken ON taken.task_id = t.id
    WHERE coalesce(taken.cents, 0) IS DISTINCT FROM due.cents
       OR (taken.task_id IS NOT NULL AND taken.payer IS DISTINCT FROM t.awarded_bidder_id::text)`,

  "each withdrawal of fees has its reference, and none took more than there was": sql`
    SELECT 'transfer ' || t.id AS subject, format('fee_withdrawal:…, fee_withdrawal %s', -e.amount_cents) AS expected,
           format('%s, %s', t.external_ref, t.fingerprint) AS actual
    FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    WHERE e.bucket = 'platform' AND e.kind = 'fee_withdrawal' AND (
      t.external_ref LIKE 'fee\\_withdrawal:_%' AND t.fingerprint = format('fee_withdrawal %s', -e.amount_cents)) IS NOT TRUE
    UNION ALL
    SELECT 'entry ' || id, '0 or more left', format('%s left', left_cents)
    FROM (
      SELECT id, amount_cents, sum(amount_cents) OVER (ORDER BY created_at, amount_cents DESC) AS left_cents
      FROM ledger_entries WHERE bucket = 'platform'
    ) history WHERE amount_cents < 0 AND left_cents < 0`,
};
