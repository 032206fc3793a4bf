import type { Reputation } from "../schemas/reputation.ts";
import { type Connection, sql } from "../store/connection.ts";

/**
 * Returns the reputations of these users, including those without any activity; unknown users are left out. It is one
 * indexed read per user, however many tasks there were, because triggers maintain the counters.
 */
export function readReputations(connection: Connection, userIds: readonly string[]): Promise<Reputation[]> {
  return connection.query<Reputation>(sql`
    SELECT u.id AS "userId", u.display_name AS "displayName",
      CASE WHEN s.buyer_tasks_posted > 0 THEN json_build_object(
        'tasksPosted', s.buyer_tasks_posted,
        'tasksAwarded', s.buyer_tasks_awarded,
        'tasksAccepted', s.buyer_tasks_accepted,
        'tasksCancelled', s.buyer_tasks_cancelled,
        'tasksEndedByAgreement', s.buyer_tasks_ended_by_agreement,
        'disputes', s.buyer_disputes,
        'disputesLost', s.buyer_disputes_lost,
        'medianDecisionHours', CASE WHEN s.buyer_tasks_awarded > 0 THEN round(greatest(
          extract(epoch FROM s.decision_median_low + s.decision_median_high) / 2 / 3600, 0), 4)::float8 END,
        'ratingCount', s.buyer_rating_count,
        'ratingAverage', round(s.buyer_rating_stars::numeric / nullif(s.buyer_rating_count, 0), 2)::float8
      ) END AS buyer,
      CASE WHEN s.bidder_tasks_awarded > 0 THEN json_build_object(
        'tasksAwarded', s.bidder_tasks_awarded,
        'tasksDelivered', s.bidder_tasks_delivered,
        'tasksAccepted', s.bidder_tasks_accepted,
        'tasksExpired', s.bidder_tasks_expired,
        'onTimeRate', round(s.bidder_tasks_on_time::numeric
          / nullif(s.bidder_tasks_delivered + s.bidder_tasks_expired, 0), 4)::float8,
        'tasksGivenBack', s.bidder_tasks_given_back,
        'tasksEndedByAgreement', s.bidder_tasks_ended_by_agreement,
        'disputes', s.bidder_disputes,
        'disputesLost', s.bidder_disputes_lost,
        'ratingCount', s.bidder_rating_count,
        'ratingAverage', round(s.bidder_rating_stars::numeric / nullif(s.bidder_rating_count, 0), 2)::float8
      ) END AS bidder
    FROM users u LEFT JOIN reputations s ON s.user_id = u.id
    WHERE u.id = ANY (${userIds}::uuid[])`);
}

/**
 * Selects the stored reputations that do not match tasks, disputes and ratings; the side without a row is null. It reads all
 * tasks, but as a single statement it sees one snapshot, so it can run on a busy service. `SELECT reputation_rebuild()` is the
 * repair.
 */
export const reputationDifferences = sql`
  SELECT coalesce(kept.user_id, source.user_id) AS "userId",
         CASE WHEN kept.user_id IS NOT NULL THEN to_jsonb(kept) END AS kept,
         CASE WHEN source.user_id IS NOT NULL THEN to_jsonb(source) END AS "fromSource"
  FROM reputations kept FULL JOIN reputations_from_source source ON source.user_id = kept.user_id
  WHERE to_jsonb(kept) IS DISTINCT FROM to_jsonb(source)`;
