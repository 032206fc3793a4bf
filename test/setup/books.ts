import { expect } from "vitest";
import { type Connection, sql } from "../../server/store/connection.ts";
import type { Reachable } from "./testService.ts";

interface Fault {
  rule: string;
  subject: string | null;
}

/**
 * Asserts the invariants of the money: every wallet is the sum of its entries, step by step and without a gap; every
 * movement sums to zero; and the held money is exactly what unfinished tasks need.
 */
export async function expectBooksToBalance({ services }: Pick<Reachable, "services">): Promise<void> {
  expect(await findFaults(services.database), "faults in the books").toEqual([]);
}

/** One statement, so that it sees one snapshot, whatever else is running. */
function findFaults(connection: Connection): Promise<Fault[]> {
  return connection.query<Fault>(sql`
    WITH folded AS (
      SELECT user_id, bucket, version, balance_after_cents,
             sum(amount_cents) OVER (PARTITION BY user_id, bucket ORDER BY version) AS balance_cents,
             row_number() OVER (PARTITION BY user_id ORDER BY version) AS position,
             created_at > lag(created_at, 1, '-infinity') OVER (PARTITION BY user_id ORDER BY version) AS is_later
      FROM ledger_entries WHERE user_id IS NOT NULL
    ), sums AS (
      SELECT user_id, coalesce(sum(amount_cents) FILTER (WHERE bucket = 'available'), 0) AS available_cents,
             coalesce(sum(amount_cents) FILTER (WHERE bucket = 'held'), 0) AS held_cents,
             coalesce(-sum(amount_cents) FILTER (WHERE bucket = 'debt'), 0) AS debt_cents, count(*) AS entries
      FROM ledger_entries WHERE user_id IS NOT NULL GROUP BY user_id
    ), holds AS (
      SELECT t.buyer_id AS user_id, sum(CASE t.status WHEN 'open' THEN t.max_budget_cents ELSE b.price_cents END) AS held_cents
      FROM tasks t LEFT JOIN bids b ON b.id = t.awarded_bid_id
      WHERE t.status IN ('open', 'awarded', 'delivered', 'disputed') GROUP BY t.buyer_id
    )
    SELECT 'an entry states the balance after it' AS rule, user_id::text || ' version ' || version AS subject
      FROM folded WHERE balance_after_cents <> balance_cents
    UNION ALL SELECT 'versions have no gap', user_id::text FROM folded WHERE version <> position
    UNION ALL SELECT 'later entries have later times', user_id::text FROM folded WHERE NOT is_later
    UNION ALL SELECT 'a wallet is the sum of its entries', coalesce(w.user_id, s.user_id)::text
      FROM wallets w FULL JOIN sums s ON s.user_id = w.user_id
      WHERE (w.available_cents, w.held_cents, w.debt_cents, w.version) IS DISTINCT FROM
            (coalesce(s.available_cents, 0), coalesce(s.held_cents, 0), coalesce(s.debt_cents, 0), coalesce(s.entries, 0))
    UNION ALL SELECT 'a movement sums to zero', transfer_id::text
      FROM ledger_entries GROUP BY transfer_id HAVING sum(amount_cents) <> 0
    UNION ALL SELECT 'a movement has entries', t.id::text
      FROM ledger_transfers t WHERE NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.transfer_id = t.id)
    UNION ALL SELECT 'all entries sum to zero', NULL FROM ledger_entries HAVING sum(amount_cents) <> 0
    UNION ALL SELECT 'the held money is what unfinished tasks need', coalesce(w.user_id, h.user_id)::text
      FROM wallets w FULL JOIN holds h ON h.user_id = w.user_id
      WHERE coalesce(w.held_cents, 0) <> coalesce(h.held_cents, 0)`);
}
