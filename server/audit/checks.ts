import { reputationDifferences } from "../market/reputation.ts";
import { type Sql, sql } from "../store/connection.ts";
import { acceptanceChecks } from "./acceptanceChecks.ts";
import { feeChecks } from "./feeChecks.ts";

/** The hold that each task should have: the budget while open, the price from the award until closed, then nothing. */
const expectedHolds = sql`
  SELECT t.id AS task_id, t.buyer_id, CASE
    WHEN t.status = 'open' THEN t.max_budget_cents
    WHEN t.status IN ('awarded', 'delivered', 'disputed') THEN b.price_cents
    ELSE 0 END AS cents
  FROM tasks t LEFT JOIN bids b ON b.id = t.awarded_bid_id`;

/**
 * The checks within the database, by name. Each statement returns a row per discrepancy: subject, expected, actual.
 * They rely on the ledger's entries and on nothing derived from them.
 */
export const databaseChecks: Record<string, Sql> = {
  "every movement sums to zero": sql`
    SELECT 'transfer ' || transfer_id AS subject, 0 AS expected, sum(amount_cents) AS actual
    FROM ledger_entries GROUP BY transfer_id HAVING sum(amount_cents) <> 0`,

  // A movement from or to the outside account always sums to zero, so its kind and direction are checked instead.
  "every movement has the shape of its kind": sql`
    WITH shapes (users, sides) AS (VALUES
      (1, 'hold available -, hold held +'),
      (1, 'hold_release available +, hold_release held -'),
      (1, 'dispute_refund available +, dispute_refund held -'),
      (2, 'task_earning available +, task_payment held -'),
      (2, 'platform_fee available -, platform_fee platform +, task_earning available +, task_payment held -'),
      (0, 'fee_withdrawal outside +, fee_withdrawal platform -'),
      (1, 'topup available +, topup outside -'),
      (1, 'payout available -, payout outside +'),
      -- One that was booked after a restore, when the wallet no longer had the money.
      (1, 'payout available -, payout debt -, payout outside +'),
      (1, 'payout debt -, payout outside +'),
      (1, 'payout_reversal available +, payout_reversal outside -'),
      (1, 'topup_refund available -, topup_refund outside +'),
      (1, 'topup_refund available -, topup_refund debt -, topup_refund outside +'),
      (1, 'topup_refund debt -, topup_refund outside +'),
      -- A refund that failed, and a dispute that was won.
      (1, 'topup_refund available +, topup_refund outside -'),
      (1, 'chargeback available -, chargeback outside +'),
      (1, 'chargeback available -, chargeback debt -, chargeback outside +'),
      (1, 'chargeback debt -, chargeback outside +'),
      (1, 'chargeback available +, chargeback outside -'),
      -- The payment of a debt, and the money of the users that the seed creates.
      (1, 'adjustment available -, adjustment debt +'),
      (1, 'adjustment available +, adjustment outside -')
    )
    SELECT 'transfer ' || transfer_id AS subject, 'a known shape for its kind' AS expected,
           format('%s, of %s users', sides, users) AS actual
    FROM (
      SELECT transfer_id, count(DISTINCT user_id) FILTER (WHERE kind <> 'platform_fee') AS users,
             string_agg(format('%s %s %s', kind, bucket, CASE WHEN amount_cents > 0 THEN '+' ELSE '-' END), ', '
                        ORDER BY kind, bucket, amount_cents) AS sides
      FROM ledger_entries GROUP BY transfer_id
    ) movement WHERE NOT EXISTS (
      SELECT FROM shapes WHERE shapes.users = movement.users AND shapes.sides = movement.sides
    )`,

  "all accounts together sum to zero": sql`
    SELECT 'all entries' AS subject, 0 AS expected, sum(amount_cents) AS actual
    FROM ledger_entries HAVING sum(amount_cents) <> 0`,

  "wallets equal the sums of their entries": sql`
    SELECT 'user ' || user_id || ', ' || bucket AS subject, coalesce(e.cents, 0) AS expected, coalesce(w.cents, 0) AS actual
    FROM (
      SELECT user_id, bucket, sum(amount_cents) AS cents FROM ledger_entries WHERE user_id IS NOT NULL GROUP BY user_id, bucket
    ) e FULL JOIN (
      SELECT user_id, b.bucket, b.cents FROM wallets,
        LATERAL (VALUES ('available', available_cents), ('held', held_cents), ('debt', -debt_cents)) AS b (bucket, cents)
    ) w USING (user_id, bucket)
    WHERE coalesce(e.cents, 0) <> coalesce(w.cents, 0)`,

  "each entry's balance follows from the one before": sql`
    SELECT 'entry ' || id AS subject, running AS expected, balance_after_cents AS actual
    FROM (
      SELECT id, balance_after_cents, sum(amount_cents) OVER (PARTITION BY user_id, bucket ORDER BY version) AS running
      FROM ledger_entries WHERE user_id IS NOT NULL
    ) chain WHERE balance_after_cents IS DISTINCT FROM running`,

  "no entry is missing from a wallet's history": sql`
    SELECT 'user ' || user_id || ', version' AS subject, place AS expected, version AS actual
    FROM (
      SELECT user_id, version, row_number() OVER (PARTITION BY user_id ORDER BY version) AS place
      FROM ledger_entries WHERE user_id IS NOT NULL
    ) numbered WHERE version <> place
    UNION ALL
    SELECT 'user ' || w.user_id || ', last version', coalesce(e.last, 0), w.version
    FROM wallets w
    LEFT JOIN (SELECT user_id, max(version) AS last FROM ledger_entries GROUP BY user_id) e ON e.user_id = w.user_id
    WHERE w.version <> coalesce(e.last, 0)`,

  "no bucket is negative, and nobody with money available owes a debt": sql`
    SELECT 'user ' || user_id AS subject, 'nothing below 0, and no debt while money is available' AS expected,
           format('%s available, %s held, %s owed', available_cents, held_cents, debt_cents) AS actual
    FROM wallets WHERE available_cents < 0 OR held_cents < 0 OR debt_cents < 0 OR (available_cents > 0 AND debt_cents > 0)`,

  "reputations match tasks, disputes and ratings": sql`
    SELECT 'user ' || "userId" AS subject, coalesce("fromSource"::text, 'none') AS expected,
           coalesce(kept::text, 'none') AS actual
    FROM (${reputationDifferences}) difference`,

  "each task's hold matches its status": sql`
    SELECT 'task ' || o.task_id AS subject, o.cents AS expected, coalesce(h.cents, 0) AS actual
    FROM (${expectedHolds}) o
    LEFT JOIN (
      SELECT t.task_id, e.user_id, sum(e.amount_cents) AS cents
      FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id WHERE e.bucket = 'held'
      GROUP BY t.task_id, e.user_id
    ) h ON h.task_id = o.task_id AND h.user_id = o.buyer_id
    WHERE o.cents IS DISTINCT FROM coalesce(h.cents, 0)`,

  "held money equals the open holds": sql`
    SELECT 'user ' || user_id AS subject, coalesce(o.cents, 0) AS expected, coalesce(w.held_cents, 0) AS actual
    FROM (SELECT buyer_id AS user_id, sum(cents) AS cents FROM (${expectedHolds}) h GROUP BY buyer_id) o
    FULL JOIN wallets w USING (user_id)
    WHERE coalesce(o.cents, 0) <> coalesce(w.held_cents, 0)`,

  "each task paid the bidder, and refunded after a dispute or settlement, the correct amount once": sql`
    SELECT 'task ' || t.id || ', ' || due.kind AS subject, due.cents AS expected, coalesce(moved.cents, 0) AS actual
    FROM tasks t
    LEFT JOIN bids b ON b.id = t.awarded_bid_id
    LEFT JOIN disputes d ON d.task_id = t.id AND d.status = 'resolved'
    LEFT JOIN agreements a ON a.task_id = t.id AND a.kind = 'settle' AND a.status = 'accepted'
    CROSS JOIN LATERAL (VALUES
      ('task_earning', t.awarded_bidder_id, CASE t.status
        WHEN 'accepted' THEN b.price_cents WHEN 'resolved' THEN coalesce(a.bidder_cents, d.bidder_cents) ELSE 0 END),
      ('dispute_refund', t.buyer_id, CASE t.status
        WHEN 'resolved' THEN coalesce(b.price_cents - a.bidder_cents, d.buyer_cents) ELSE 0 END)
    ) AS due (kind, user_id, cents)
    LEFT JOIN (
      SELECT l.task_id, e.kind, e.user_id, sum(e.amount_cents) AS cents
      FROM ledger_entries e JOIN ledger_transfers l ON l.id = e.transfer_id
      WHERE e.kind IN ('task_earning', 'dispute_refund') AND e.bucket = 'available'
      GROUP BY l.task_id, e.kind, e.user_id
    ) moved ON moved.task_id = t.id AND moved.kind = due.kind
    WHERE coalesce(moved.cents, 0) IS DISTINCT FROM due.cents
       OR (moved.user_id IS NOT NULL AND moved.user_id IS DISTINCT FROM due.user_id)`,

  "each resolved dispute divides the price": sql`
    SELECT 'dispute ' || d.id AS subject, b.price_cents AS expected, d.buyer_cents + d.bidder_cents AS actual
    FROM disputes d JOIN tasks t ON t.id = d.task_id LEFT JOIN bids b ON b.id = t.awarded_bid_id
    WHERE d.status = 'resolved' AND d.buyer_cents + d.bidder_cents IS DISTINCT FROM b.price_cents`,

  "each task ended by an agreement has the accepted agreement, and no other task has one": sql`
    SELECT 'task ' || t.id AS subject, coalesce(string_agg(a.kind, ', '), 'no agreement') AS expected,
           format('%s, closed because %s, dispute %s', t.status, t.closed_because, d.resolution) AS actual
    FROM tasks t
    LEFT JOIN agreements a ON a.task_id = t.id AND a.status = 'accepted' AND a.kind IN ('cancel', 'settle')
    LEFT JOIN disputes d ON d.task_id = t.id
    WHERE t.closed_because = 'agreed' OR a.id IS NOT NULL OR d.resolution = 'settled'
    GROUP BY t.id, d.id
    HAVING count(a.id) <> 1 OR t.closed_because IS DISTINCT FROM 'agreed'
       OR (d.resolution = 'settled') IS DISTINCT FROM (CASE WHEN d.id IS NOT NULL THEN true END)
       OR t.status <> CASE min(a.kind) WHEN 'settle' THEN 'resolved' ELSE 'cancelled' END
       OR (d.id IS NOT NULL AND (d.bidder_cents, d.buyer_cents)
           IS DISTINCT FROM (min(a.bidder_cents), (SELECT price_cents FROM bids WHERE id = t.awarded_bid_id) - min(a.bidder_cents)))`,

  "each task has the rounds of changes that it counts, and only the one that it is in has not ended": sql`
    SELECT 'task ' || task_id AS subject, format('%s rounds, open: %s', coalesce(used, 0), coalesce(is_in_round, false)::int) AS expected,
           format('%s rounds up to %s, open: %s, ended amiss: %s', coalesce(asked, 0), coalesce(last, 0), coalesce(open, 0), coalesce(amiss, 0)) AS actual
    FROM (
      SELECT id AS task_id, revisions_used AS used, delivery_due_at, status = 'awarded' AND delivered_at IS NOT NULL AS is_in_round
      FROM tasks WHERE revisions_used > 0 OR (status = 'awarded' AND delivered_at IS NOT NULL)
    ) t FULL JOIN (
      SELECT task_id, count(*) AS asked, max(round) AS last, count(*) FILTER (WHERE ended_at IS NULL) AS open,
             max(round) FILTER (WHERE ended_at IS NULL) AS last_open, (array_agg(due_at ORDER BY round DESC))[1] AS last_due,
             -- What the clock ends, it ends at the due time; what a side ends has ended by then.
             count(*) FILTER (WHERE ended_at > due_at OR (declined_by = 'clock' AND ended_at <> date_trunc('milliseconds', due_at))) AS amiss
      FROM change_rounds GROUP BY task_id
    ) r USING (task_id)
    WHERE (used, used, is_in_round::int, delivery_due_at) IS DISTINCT FROM (asked, last, open, last_due)
       OR last_open <> last OR amiss > 0`,

  // Each extension is later than the one before, and a round of changes begins with a due time of its own.
  "each accepted extension holds, until a round of changes sets another due time": sql`
    SELECT 'task ' || t.id AS subject, max(a.delivery_due_at) AS expected, t.delivery_due_at AS actual
    FROM agreements a JOIN tasks t ON t.id = a.task_id
    LEFT JOIN change_rounds r ON r.task_id = t.id AND r.round = t.revisions_used
    WHERE a.kind = 'extend' AND a.status = 'accepted' AND (r.id IS NULL OR a.ended_at > r.created_at)
    GROUP BY t.id HAVING max(a.delivery_due_at) IS DISTINCT FROM t.delivery_due_at`,

  "each task that was given back was awarded and never delivered, and no other awarded task was cancelled by one side": sql`
    SELECT 'task ' || t.id AS subject, 'awarded, not delivered, closed because given_back or agreed' AS expected,
           format('%s, awarded at %s, delivered at %s, %s deliveries, closed because %s', t.status, t.awarded_at, t.delivered_at,
                  f.deliveries, t.closed_because) AS actual
    FROM tasks t
    CROSS JOIN LATERAL (
      SELECT count(*) AS deliveries FROM artifacts WHERE bid_id = t.awarded_bid_id AND kind = 'delivery') f
    WHERE (t.status = 'cancelled' AND t.awarded_bid_id IS NOT NULL AND t.closed_because IS DISTINCT FROM 'agreed'
           OR t.closed_because = 'given_back')
      AND (t.closed_because IS DISTINCT FROM 'given_back' OR t.status <> 'cancelled' OR t.awarded_bid_id IS NULL
           OR t.awarded_at IS NULL OR t.delivered_at IS NOT NULL OR f.deliveries > 0)`,

  "no entry or transfer is orphaned": sql`
    SELECT 'transfer ' || t.id AS subject, 'entries' AS expected, 'none' AS actual
    FROM ledger_transfers t WHERE NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.transfer_id = t.id)
    UNION ALL
    SELECT 'entry ' || e.id, 'a transfer', 'none'
    FROM ledger_entries e WHERE NOT EXISTS (SELECT 1 FROM ledger_transfers t WHERE t.id = e.transfer_id)
    UNION ALL
    SELECT 'entry ' || e.id, 'a task', 'none'
    FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    WHERE t.task_id IS NULL AND e.kind IN ('hold', 'hold_release', 'task_payment', 'task_earning', 'dispute_refund', 'platform_fee')
    UNION ALL
    SELECT 'entry ' || e.id, 'an external reference', 'none'
    FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    WHERE t.external_ref IS NULL
      AND e.kind IN ('topup', 'payout', 'payout_reversal', 'topup_refund', 'chargeback', 'adjustment', 'fee_withdrawal')`,

  "each paid top-up was credited once, and no other top-up was credited": sql`
    SELECT coalesce('top-up ' || p.id, 'entry ' || e.id) AS subject, coalesce(p.cents, 0) AS expected,
           coalesce(e.amount_cents, 0) AS actual
    FROM (
      SELECT id, user_id, payment_intent_id AS reference, amount_cents AS cents FROM topups WHERE status = 'paid'
    ) p FULL JOIN (
      SELECT e.id, e.user_id, t.external_ref AS reference, e.amount_cents
      FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
      WHERE e.kind = 'topup' AND e.bucket = 'available'
    ) e USING (user_id, reference)
    WHERE coalesce(p.cents, 0) <> coalesce(e.amount_cents, 0)`,

  "each payout was debited, and credited back if and only if it failed": sql`
    SELECT coalesce('payout ' || p.id, 'transfer ' || e.id) AS subject, coalesce(p.cents, 0) AS expected,
           coalesce(e.amount_cents, 0) AS actual
    FROM (
      SELECT id, user_id, 'payout:' || id AS reference, -amount_cents AS cents FROM payouts
      UNION ALL
      SELECT id, user_id, 'payout:' || id || ':reversal', amount_cents FROM payouts WHERE state = 'failed'
    ) p FULL JOIN (
      SELECT t.id, e.user_id, t.external_ref AS reference, sum(e.amount_cents) AS amount_cents
      FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
      WHERE e.kind IN ('payout', 'payout_reversal') AND e.user_id IS NOT NULL
      GROUP BY t.id, e.user_id
    ) e USING (user_id, reference)
    WHERE coalesce(p.cents, 0) <> coalesce(e.amount_cents, 0)`,

  ...feeChecks,
  ...acceptanceChecks,
};
